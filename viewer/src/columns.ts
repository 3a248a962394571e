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

/** What `longVarint` read last; a result beside its end, without an object for every number. */
let long = 0;

/** Reads a varint of any length, exactly up to 2^53, into `long`; gives where it ends. */
function longVarint(bytes: Uint8Array, at: number, end: number): number {
  let value = 0;
  let scale = 1;
  for (let used = 0; used < 10 && at < end; used++) {
    const byte = bytes[at++]!;
    value += (byte & 127) * scale;
    if (byte < 128) {
      long = value;
      return at;
    }
    scale *= 128;
  }
  throw new Damage("a number does not end");
}

export function readNumbers(
  bytes: Uint8Array,
  from: number,
  to: number,
  encoding: number,
  out: Numbers,
  first: number,
  rows: number,
  scale: number,
): void {
  if (encoding === BYTES) {
    if (to - from !== rows) throw new Damage(`${to - from} bytes for ${rows} rows`);
    out.set(bytes.subarray(from, to), first);
    if (scale !== 1) for (let row = first; row < first + rows; row++) out[row]! *= scale;
    return;
  }
  if (encoding === SAME) {
    const end = longVarint(bytes, from, to);
    if (end !== to) throw new Damage("a column's length does not match its rows");
    out.fill(fitting(long * scale, out), first, first + rows);
    return;
  }
  if (encoding !== VARINT && encoding !== DELTA) throw new Damage(`encoding ${encoding} where numbers stand`);
  const part = out.subarray(first, first + rows);
  if (decode(bytes, from, to, encoding === DELTA, part) !== to) throw new Damage("a column's length does not match its rows");
  if (scale !== 1) for (let row = 0; row < rows; row++) part[row]! *= scale;
}

const MOST_U32 = 0xffffffff;
const fitting = (value: number, out: Numbers): number => (out instanceof Float64Array ? value : Math.min(value, MOST_U32));

/** A loop that may write three kinds of arrays is twice as slow as one that writes one kind: there is one for each. */
function decode(bytes: Uint8Array, from: number, to: number, differences: boolean, out: Numbers): number {
  if (out instanceof Float64Array)
    return differences ? deltasF64(bytes, from, to, out) : varintsF64(bytes, from, to, out);
  if (out instanceof Uint32Array) return differences ? deltasU32(bytes, from, to, out) : varintsU32(bytes, from, to, out);
  const wide = new Uint32Array(out.length);
  const end = decode(bytes, from, to, differences, wide);
  out.set(wide);
  return end;
}

function varintsF64(bytes: Uint8Array, at: number, end: number, out: Float64Array): number {
  for (let row = 0; row < out.length; row++) {
    let value = bytes[at++]!;
    if (value > 127) {
      const second = bytes[at++]!;
      value = (value & 127) | ((second & 127) << 7);
      if (second > 127) {
        const third = bytes[at++]!;
        value |= (third & 127) << 14;
        if (third > 127) {
          at = longVarint(bytes, at - 3, end);
          value = long;
        }
      }
    }
    out[row] = value;
  }
  return at;
}

function varintsU32(bytes: Uint8Array, at: number, end: number, out: Uint32Array): number {
  for (let row = 0; row < out.length; row++) {
    let value = bytes[at++]!;
    if (value > 127) {
      const second = bytes[at++]!;
      value = (value & 127) | ((second & 127) << 7);
      if (second > 127) {
        const third = bytes[at++]!;
        value |= (third & 127) << 14;
        if (third > 127) {
          at = longVarint(bytes, at - 3, end);
          out[row] = long > MOST_U32 ? MOST_U32 : long;
          continue;
        }
      }
    }
    out[row] = value;
  }
  return at;
}

function deltasF64(bytes: Uint8Array, at: number, end: number, out: Float64Array): number {
  let sum = 0;
  for (let row = 0; row < out.length; row++) {
    let coded = bytes[at++]!;
    if (coded > 127) {
      const second = bytes[at++]!;
      coded = (coded & 127) | ((second & 127) << 7);
      if (second > 127) {
        const third = bytes[at++]!;
        coded |= (third & 127) << 14;
        if (third > 127) {
          at = longVarint(bytes, at - 3, end);
          // The sign stands in the lowest bit; % and / keep it right beyond 32 bits.
          sum += long % 2 ? -(long + 1) / 2 : long / 2;
          out[row] = sum;
          continue;
        }
      }
    }
    sum += (coded >>> 1) ^ -(coded & 1);
    out[row] = sum;
  }
  return at;
}

function deltasU32(bytes: Uint8Array, at: number, end: number, out: Uint32Array): number {
  let sum = 0;
  for (let row = 0; row < out.length; row++) {
    let coded = bytes[at++]!;
    if (coded > 127) {
      const second = bytes[at++]!;
      coded = (coded & 127) | ((second & 127) << 7);
      if (second > 127) {
        const third = bytes[at++]!;
        coded |= (third & 127) << 14;
        if (third > 127) {
          at = longVarint(bytes, at - 3, end);
          sum += long % 2 ? -(long + 1) / 2 : long / 2;
          out[row] = sum > MOST_U32 ? MOST_U32 : sum;
          continue;
        }
      }
    }
    sum += (coded >>> 1) ^ -(coded & 1);
    out[row] = sum > MOST_U32 ? MOST_U32 : sum;
  }
  return at;
}

const utf8 = new TextDecoder();

export function readTexts(
  bytes: Uint8Array,
  from: number,
  to: number,
  encoding: number,
  out: string[],
  first: number,
  rows: number,
): void {
  if (encoding !== TEXT) throw new Damage(`encoding ${encoding} where texts stand`);
  let at = from;
  for (let row = first; row < first + rows; row++) {
    const start = longVarint(bytes, at, to);
    const length = long;
    if (start + length > to) throw new Damage("a text is longer than its column");
    out[row] = utf8.decode(bytes.subarray(start, start + length));
    at = start + length;
  }
  if (at !== to) throw new Damage("a column's length does not match its rows");
}

export const knownEncoding = (encoding: number): boolean => encoding <= LIST;
