// Checks of arguments: what refimpl/_support/require.py refuses, in its words.

// An argument is out of range, or does not fit the others.
export class ValueError extends Error {}

// An argument is of the wrong kind: what Python calls a TypeError.
export class KindError extends Error {}

// A score is NaN: what Python calls a FloatingPointError.
export class BrokenError extends Error {}

// A number that was written with a point. Where a caller can tell, 2.0 is no integer.
export class Real {
  constructor(value) {
    this.value = value;
  }
}

// An array that is not one-dimensional: its numbers row after row, and its shape.
export class Table {
  constructor(data, shape) {
    this.data = data;
    this.shape = shape;
  }

  row(i) {
    return this.data.subarray(i * this.shape[1], (i + 1) * this.shape[1]);
  }
}

const DTYPES = new Map([
  [Float32Array, "float32"],
  [Float64Array, "float64"],
  [Int32Array, "int32"],
  [Int16Array, "int16"],
  [BigInt64Array, "int64"],
  [BigUint64Array, "uint64"],
  [Uint8Array, "bool"],
]);

// The NumPy name of what an array holds; null of what is no array.
export function dtype_of(value) {
  if (value instanceof Table) return dtype_of(value.data);
  if (Array.isArray(value)) return value.every(is_integer) ? "int64" : "float64";
  return DTYPES.get(value?.constructor) ?? null;
}

export function shape_of(value) {
  return value instanceof Table ? value.shape : [value.length];
}

function is_integer(value) {
  return typeof value === "bigint" || Number.isInteger(value);
}

function kind(value) {
  if (value === null || value === undefined) return "NoneType";
  if (value instanceof Real || (typeof value === "number" && !Number.isInteger(value)))
    return "float";
  const names = { number: "int", bigint: "int", boolean: "bool", string: "str" };
  return names[typeof value] ?? (Array.isArray(value) ? "list" : value.constructor.name);
}

export function wrong_kind(name, wanted, value) {
  return new KindError(`${name} must be ${wanted}, got ${kind(value)}`);
}

// What a message says of a value: as Python shows it.
export function shown(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "string") return `'${value}'`;
  if (typeof value === "boolean") return value ? "True" : "False";
  return String(value instanceof Real ? value.value : value);
}

function shown_real(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return Number.isInteger(value) && Math.abs(value) < 1e16 ? `${value}.0` : String(value);
}

function shown_shape(shape) {
  return shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
}

export function integer(name, value, low, high = Infinity) {
  if ((typeof value !== "number" || !Number.isInteger(value)) && typeof value !== "bigint") {
    throw wrong_kind(name, "an integer", value);
  }
  if (value < low || value > high) {
    const bound = high === Infinity ? `at least ${low}` : `in [${low}, ${high}]`;
    throw new ValueError(`${name} must be ${bound}, got ${shown(value)}`);
  }
  return Number(value);
}

export function real(name, value, low, { strict = false, high = Infinity } = {}) {
  if (value instanceof Real) value = value.value;
  if (typeof value !== "number" && typeof value !== "bigint")
    throw wrong_kind(name, "a real number", value);
  value = Number(value);
  if (!Number.isFinite(value) || value < low || (strict && value === low) || value > high) {
    const bound =
      (strict ? `above ${low}` : `at least ${low}`) +
      (high === Infinity ? "" : ` and at most ${high}`);
    throw new ValueError(`${name} must be finite and ${bound}, got ${shown_real(value)}`);
  }
  return value;
}

export function choice(name, value, allowed) {
  if (allowed.includes(value)) return value;
  const known = allowed.map((one) => `'${one}'`).join(", ");
  throw new ValueError(`${name} must be one of ${known}, got ${shown(value)}`);
}

export function truth(name, value) {
  if (typeof value !== "boolean") throw wrong_kind(name, "True or False", value);
  return value;
}

export function listed(name, value, of) {
  if (!Array.isArray(value)) throw wrong_kind(name, `a tuple or list of ${of}`, value);
  return value;
}

// Integers in [low, high) as an array of numbers; those beyond 2**53 stay BigInts.
export function ids(name, value, low, high) {
  const dtype = dtype_of(value);
  if (dtype === null) throw wrong_kind(name, "an array", value);
  const shape = shape_of(value);
  if (shape.length !== 1)
    throw new ValueError(`${name} must be 1-D, got shape ${shown_shape(shape)}`);
  if (!value.length) return [];
  if (!dtype.startsWith("int") && !dtype.startsWith("uint")) {
    throw new KindError(`${name} must hold integers, got dtype ${dtype}`);
  }
  for (const v of value) {
    if (v < low || v >= high) throw new ValueError(`${name} must be in [${low}, ${high})`);
  }
  return Array.from(value, (v) => (Number.isSafeInteger(Number(v)) ? Number(v) : v));
}

export function node_set(name, value, n) {
  const nodes = ids(name, value, 0, n);
  if (nodes.some((v, i) => i && v <= nodes[i - 1])) {
    throw new ValueError(`${name} must be strictly ascending (sorted, each node once)`);
  }
  return nodes;
}

// A float32 or float64 array; null in `shape` accepts any length.
export function floats(name, value, shape, dtype = null) {
  const own = dtype_of(value);
  if (own !== "float32" && own !== "float64") {
    throw new KindError(`${name} must be float32 or float64, got ${own ?? kind(value)}`);
  }
  if (dtype !== null && own !== dtype) {
    throw new KindError(`${name} must be ${dtype} like the other arrays, got ${own}`);
  }
  const got = shape_of(value);
  if (got.length !== shape.length || shape.some((want, i) => want !== null && want !== got[i])) {
    const wanted = shape.map((want) => want ?? "any").join(", ");
    throw new ValueError(`${name} must have shape (${wanted}), got ${shown_shape(got)}`);
  }
  return value;
}

// `count` truths as an array of true and false.
export function mask(name, value, count) {
  const booleans = Array.isArray(value) && value.every((v) => typeof v === "boolean");
  if (!booleans && !(value instanceof Uint8Array)) {
    throw new KindError(`${name} must hold bools, got dtype ${dtype_of(value)}`);
  }
  if (value.length !== count)
    throw new ValueError(`${name} must have shape (${count},), got (${value.length},)`);
  return Array.from(value, Boolean);
}
