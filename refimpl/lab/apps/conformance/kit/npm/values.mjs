// The form of values: reading JSON with its numbers as they are written, values for a module, and
// what differs between a right answer and a program's.

// A number of a JSON text. JSON.parse makes one of 2 and 2.0, and rounds above 2**53.
export class Written {
  constructor(text) { this.text = text; }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const NUMBER = /^(-?[0-9]{1,40}|nan|-?inf)$/;
const KEPT = "written number";

export function parse(text) {
  const kept = text.replace(TOKEN, (t) => (t[0] === '"' ? t : `{"${KEPT}":"${t}"}`));
  return JSON.parse(kept, (name, value) =>
    typeof value?.[KEPT] === "string" ? new Written(value[KEPT]) : value);
}

// Return a value of `parse` as the same JSON text.
export function text(value) {
  if (value instanceof Written) return value.text;
  if (Array.isArray(value)) return `[${value.map(text).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}:${text(v)}`).join(",")}}`;
}

// Return the number that a value stands for: a BigInt, or a Number for a real; or the value.
export function number(value) {
  const said = value instanceof Written ? value.text : value;
  if (typeof said !== "string") return value;
  if (!(value instanceof Written) && !NUMBER.test(said)) return value;
  if (/^-?\d+$/.test(said)) return BigInt(said);
  return { nan: NaN, inf: Infinity, "-inf": -Infinity }[said] ?? Number(said);
}

const isNumber = (x) => ["number", "bigint", "boolean"].includes(typeof x);
const isObject = (x) => x !== null && typeof x === "object" && !(x instanceof Written);

// ---- Values for a module ----

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, int16: Int16Array, int32: Int32Array,
  int64: BigInt64Array, uint64: BigUint64Array,
};

const plainNumber = (x) =>
  typeof x === "bigint" && BigInt.asIntN(54, x) === x && x !== -(2n ** 53n) ? Number(x) : x;

// Return an argument as a module gets it; the README describes the form.
export function decode(value) {
  if (Array.isArray(value)) return value.map(decode);
  if (!isObject(value)) return plainNumber(number(value));
  if ("data" in value) return decodeArray(value);
  if ("graph" in value) return { indptr: ids(value.graph.indptr), indices: ids(value.graph.indices) };
  const fields = Object.entries(value.fields).map(([name, part]) => [name, decode(part)]);
  return { ...(value.type ? { $type: value.type } : {}), ...Object.fromEntries(fields) };
}

const ids = (list) => (list.data ?? list).map((x) => Number(x.text));

function decodeArray({ dtype, shape, data }) {
  const kind = ARRAYS[dtype] ?? Array;
  const isLarge = dtype.endsWith("int64");
  const numbers = data.map((x) => (isLarge ? BigInt(number(x)) : plainNumber(number(x))));
  return { dtype, shape: shape.map((x) => Number(x.text)), data: kind.from(numbers) };
}

// Return what a module gave in the form of an answer.
export function encode(value) {
  if (ArrayBuffer.isView(value)) return [...value];
  if (Array.isArray(value)) return value.map(encode);
  if (!isObject(value)) return value ?? null;
  if ("data" in value && ("shape" in value || "dtype" in value)) return { ...value, data: encode(value.data) };
  if ("fields" in value) return { ...value, fields: encodeFields(value.fields) };
  if ("indptr" in value && Object.keys(value).length === 2) {
    return { graph: { indptr: encode(value.indptr), indices: encode(value.indices) } };
  }
  const { $type, ...fields } = value;
  return { ...($type ? { type: $type } : {}), fields: encodeFields(fields) };
}

const encodeFields = (fields) =>
  Object.fromEntries(Object.entries(fields).map(([name, part]) => [name, encode(part)]));

// ---- Differences ----

const SHORT = 60;

export function short(value) {
  const said = isObject(value) || Array.isArray(value)
    ? JSON.stringify(value, (_, x) => (typeof x === "bigint" ? String(x) : x instanceof Written ? x.text : x))
    : String(value instanceof Written ? value.text : value);
  return said.length <= SHORT ? said : `${said.slice(0, SHORT - 3)}...`;
}

function equal(want, got, rule, floating) {
  if (!isNumber(want) || !isNumber(got)) return typeof want === typeof got && want === got;
  if (typeof want === "boolean") want = Number(want);
  if (typeof got === "boolean") got = Number(got);
  if (Number.isNaN(want)) return Number.isNaN(got);
  const [a, b] = [Number(want), Number(got)];
  if (rule.rule === "close" && floating && Number.isFinite(a) && Number.isFinite(b)) {
    return Math.abs(b - a) <= Number(rule.atol.text) + Number(rule.rtol.text) * Math.abs(a);
  }
  return want == got; // an integer and a real of the same value are equal
}

// Return where and how `got` differs from `want`, in words; null if it conforms.
export function difference(want, got, rule, at = "result") {
  if (isObject(want) && "data" in want) return arrayDifference(want, got, rule, at);
  if (Array.isArray(want)) return listDifference(want, got, rule, at);
  if (isObject(want)) return partsDifference(want, got, rule, at);
  const [a, b] = [number(want), number(got)];
  return equal(a, b, rule, typeof a === "number") ? null : `${at}: want ${short(want)}, got ${short(got)}`;
}

function partsDifference(want, got, rule, at) {
  const wanted = want.graph ?? want.fields;
  const kind = want.graph ? "Graph" : want.type;
  if (kind !== undefined && isObject(got) && got.type !== undefined && got.type !== kind) {
    return `${at}: want type ${kind}, got ${short(got.type)}`;
  }
  const parts = isObject(got) ? got.graph ?? got.fields : undefined;
  if (!isObject(parts) || Array.isArray(parts)) {
    return `${at}: want ${Object.keys(wanted).join(", ")}, got ${short(got)}`;
  }
  for (const [name, part] of Object.entries(wanted)) {
    if (!Object.hasOwn(parts, name)) return `${at}.${name}: missing`;
    const found = difference(part, parts[name], rule, `${at}.${name}`);
    if (found) return found;
  }
  return null;
}

function listDifference(want, got, rule, at) {
  if (isObject(got) && "shape" in got) got = got.data; // an array where a list will do
  if (!Array.isArray(got)) return `${at}: want a list of ${want.length}, got ${short(got)}`;
  for (let i = 0; i < Math.min(want.length, got.length); i++) {
    const found = difference(want[i], got[i], rule, `${at}[${i}]`);
    if (found) return found;
  }
  return want.length === got.length ? null : `${at}: want ${want.length} entries, got ${got.length}`;
}

function arrayDifference(want, got, rule, at) {
  const { dtype } = want;
  const shape = sizes(want.shape);
  let data, gotShape;
  if (isObject(got) && Array.isArray(got.data)) {
    if (got.dtype !== undefined && got.dtype !== dtype) return `${at}: want dtype ${dtype}, got ${short(got.dtype)}`;
    data = got.data;
    gotShape = got.shape === undefined ? shape : sizes(got.shape);
  } else if (Array.isArray(got) || shape.length === 0) {
    [data, gotShape] = flat(got);
  } else {
    return `${at}: want an array of ${dtype}, shape [${shape}], got ${short(got)}`;
  }
  const isEmpty = data.length === 0 && shape.includes(0);
  if (String(gotShape) !== String(shape) && !isEmpty) return `${at}: want shape [${shape}], got [${gotShape ?? "uneven"}]`;
  if (data.length !== want.data.length) return `${at}: want ${want.data.length} numbers, got ${data.length}`;
  const rounded = (x) => (dtype === "float32" && isNumber(x) ? Math.fround(Number(x)) : x);
  for (let i = 0; i < data.length; i++) {
    const [a, b] = [rounded(number(want.data[i])), rounded(number(data[i]))];
    if (!equal(a, b, rule, dtype.startsWith("float"))) {
      return `${at}${index(i, shape)}: want ${short(want.data[i])}, got ${short(data[i])}`;
    }
  }
  return null;
}

const sizes = (shape) => (Array.isArray(shape)
  ? shape.map((x) => (typeof x === "string" ? NaN : Number(number(x)))) : null);

// Return the numbers of a list of lists of equal length, and its shape; null for uneven ones.
function flat(value) {
  if (!Array.isArray(value)) return [[value], []];
  const parts = value.map(flat);
  const shapes = parts.map(([, shape]) => shape);
  const first = shapes.length ? shapes[0] : [];
  const isEven = first !== null && shapes.every((shape) => String(shape) === String(first));
  return [parts.flatMap(([data]) => data), isEven ? [value.length, ...first] : null];
}

function index(i, shape) {
  const place = [];
  for (const size of [...shape].reverse()) {
    place.unshift(i % size);
    i = Math.floor(i / size);
  }
  return place.length ? `[${place.join(", ")}]` : "";
}

// Return the first step after which states differ, and how. A port may leave parts out.
export function stateDifference(want, got, rule) {
  if (!Array.isArray(got)) return `states: want a list of ${want.length}, got ${short(got)}`;
  for (let i = 0; i < Math.min(want.length, got.length); i++) {
    if (!isObject(got[i]) || Array.isArray(got[i])) return `states[${i}]: want an object, got ${short(got[i])}`;
    const odd = Object.keys(got[i]).find((name) => !Object.hasOwn(want[i], name));
    if (odd !== undefined) return `states[${i}].${short(odd)}: no such part, want ${Object.keys(want[i]).join(", ")}`;
    for (const name of Object.keys(want[i]).filter((name) => Object.hasOwn(got[i], name))) {
      const found = difference(want[i][name], got[i][name], rule, `states[${i}].${name}`);
      if (found) return found;
    }
  }
  return want.length === got.length ? null : `states: want ${want.length} steps, got ${got.length}`;
}
