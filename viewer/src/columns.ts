// One column's bytes into a typed array. A column is up to a million rows of one loop each, so the
// loops are written out and hold no calls.

export class Damage extends Error {}

type Numbers = Uint8Array | Uint32Array | Float64Array;

const BYTES = 0;
const VARINT = 1;
const DELTA = 2;
const TEXT = 3;
const SAME = 4;
const LIST = 5;

/** The value of a long varint whose bytes start at `at`; exact up to 2^53. */
function longVarint(bytes: Uint8Array, at: number, end: number): [number, number] {
  let value = 0;
  let scale = 1;
  for (let used = 0; used < 10 && at < end; used++) {
    const byte = bytes[at++]!;
    value += (byte & 127) * scale;
    if (byte < 128) return [value, at];
    scale *= 128;
  }
  throw new Damage("a number does not end");
}

export function readNumbers(
  bytes: Uint8Array, from: number, to: number, encoding: number, out: Numbers, first: number, rows: number, scale: number,
): void {
  let at = from;
  const end = first + rows;
  const top = out instanceof Uint32Array ? 0xffffffff : out instanceof Uint8Array ? 255 : Infinity;
  if (encoding === BYTES) {
    if (to - from !== rows) throw new Damage(`${to - from} bytes for ${rows} rows`);
    for (let row = first; row < end; row++) out[row] = bytes[at++]! * scale;
  } else if (encoding === SAME) {
    const [value, after] = longVarint(bytes, from, to);
    at = after;
    out.fill(Math.min(value * scale, top), first, end);
  } else if (encoding === VARINT) {
    for (let row = first; row < end; row++) {
      let value = bytes[at++]!;
      if (value > 127) {
        const second = bytes[at++]!;
        value = (value & 127) | ((second & 127) << 7);
        if (second > 127) {
          const third = bytes[at++]!;
          value |= (third & 127) << 14;
          if (third > 127) {
            [value, at] = longVarint(bytes, at - 3, to);
            if (value > top) value = top;
          }
        }
      }
      out[row] = value * scale;
    }
  } else if (encoding === DELTA) {
    let sum = 0;
    for (let row = first; row < end; row++) {
      let coded = bytes[at++]!;
      if (coded > 127) {
        const second = bytes[at++]!;
        coded = (coded & 127) | ((second & 127) << 7);
        if (second > 127) {
          const third = bytes[at++]!;
          coded |= (third & 127) << 14;
          if (third > 127) [coded, at] = longVarint(bytes, at - 3, to);
        }
      }
      // The sign stands in the lowest bit; % and / keep it right beyond 32 bits.
      if (coded < 0x7fffffff) sum += coded & 1 ? -((coded + 1) >>> 1) : coded >>> 1;
      else sum += coded % 2 ? -(coded + 1) / 2 : coded / 2;
      out[row] = sum * scale;
    }
  } else {
    throw new Damage(`encoding ${encoding} where numbers stand`);
  }
  if (at !== to) throw new Damage("a column's length does not match its rows");
}

const utf8 = new TextDecoder();

export function readTexts(
  bytes: Uint8Array, from: number, to: number, encoding: number, out: string[], first: number, rows: number,
): void {
  if (encoding !== TEXT) throw new Damage(`encoding ${encoding} where texts stand`);
  let at = from;
  for (let row = first; row < first + rows; row++) {
    const [length, start] = longVarint(bytes, at, to);
    if (start + length > to) throw new Damage("a text is longer than its column");
    out[row] = utf8.decode(bytes.subarray(start, start + length));
    at = start + length;
  }
  if (at !== to) throw new Damage("a column's length does not match its rows");
}

export const knownEncoding = (encoding: number): boolean => encoding <= LIST;
