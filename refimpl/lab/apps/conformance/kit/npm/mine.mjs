// Your kernels, exported by their names. A function gets its arguments by name; the README has their
// form. It throws TypeError or RangeError for arguments that must be refused.

export const name = "mine";
export const version = "1";

const WORD = 2n ** 64n;
const GOLD = 0x9e3779b97f4a7c15n;
const wrap = (x) => BigInt.asUintN(64, x);

function integer(x, low, high) {
  if (typeof x === "bigint" ? false : !Number.isInteger(x)) throw new TypeError("not an integer");
  const whole = BigInt(x);
  if (whole < low || whole > high) throw new RangeError("out of range");
  return whole;
}

const word = (x) => integer(x, 0n, WORD - 1n);

function mixWord(x) {
  x = wrap((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n);
  x = wrap((x ^ (x >> 27n)) * 0x94d049bb133111ebn);
  return x ^ (x >> 31n);
}

const uniformNumber = (k, c) => Number(mixWord(wrap(k + GOLD * (c + 1n))) >> 11n) * 2 ** -53;

export function mix({ x }) {
  if (x?.data === undefined) return mixWord(word(x));
  if (x.dtype !== "uint64") throw new TypeError("x must be uint64");
  return { dtype: "uint64", shape: x.shape, data: x.data.map(mixWord) };
}

export function key({ parts }) {
  return parts.map(word).reduce((a, part) => mixWord(wrap(a + GOLD + part)), 0n);
}

export function floyd({ key, n, f }) {
  const k = word(key);
  const most = Number(integer(n, 0n, 2n ** 31n - 1n));
  const count = Number(integer(f, 0n, BigInt(most)));
  const chosen = new Set();
  for (let c = 0; c < count; c++) {
    const last = most - count + c;
    const t = Math.floor(uniformNumber(k, BigInt(c)) * (last + 1));
    chosen.add(chosen.has(t) ? last : t);
  }
  return Int32Array.from(chosen).sort();
}
