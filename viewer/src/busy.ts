// How busy tracks were. Built once: a pyramid of busy time over the whole run answers wide questions,
// the sorted boxes themselves answer narrow ones.

import { BOXES } from "./kinds";
import type { Rank, Track } from "./rank";
import { firstAbove } from "./search_sorted";

const BINS = 1 << 15;
const STRIDE = 32;

const WAITS = new Uint8Array(256);
for (const [kind, box] of Object.entries(BOXES)) if (box.waits) WAITS[Number(kind)] = 1;
export const isWait = (kind: number): boolean => WAITS[kind] === 1;

/** Busy time of some tracks of one rank, in bins of the run's length and in every halving of their number. */
export class Pyramid {
  private readonly levels: Float32Array[] = [];
  private readonly bin: number;
  readonly total: number;

  constructor(readonly rank: Rank, readonly tracks: Track[], private readonly end: number) {
    this.bin = Math.max(end, 1) / BINS;
    const base = new Float32Array(BINS);
    const { start, stop, kind } = rank.boxes;
    const [scale, bin] = [1 / this.bin, this.bin];
    let total = 0;
    for (const { first, last } of tracks) {
      for (let i = first; i < last; i++) {
        if (WAITS[kind[i]!]) continue;
        const [a, b] = [start[i]!, stop[i]!];
        total += b - a;
        const from = Math.min(BINS - 1, (a * scale) | 0);
        const to = Math.min(BINS - 1, (b * scale) | 0);
        if (from === to) base[from]! += b - a;
        else {
          base[from]! += (from + 1) * bin - a;
          for (let k = from + 1; k < to; k++) base[k]! += bin;
          base[to]! += b - to * bin;
        }
      }
    }
    this.total = total;
    for (let level = base; ; ) {
      this.levels.push(level);
      if (level.length === 1) break;
      const half = new Float32Array(level.length / 2);
      for (let k = 0; k < half.length; k++) half[k] = level[2 * k]! + level[2 * k + 1]!;
      level = half;
    }
  }

  /** Busy time of all the tracks together between two moments. */
  busy(from: number, to: number): number {
    from = Math.max(0, from);
    to = Math.min(this.end, to);
    if (to <= from) return 0;
    if (to - from < this.bin * 2) return this.exactly(from, to);
    const depth = Math.min(this.levels.length - 1, Math.max(0, Math.floor(Math.log2((to - from) / this.bin)) - 2));
    const level = this.levels[depth]!;
    const bin = this.bin * 2 ** depth;
    const [a, b] = [from / bin, Math.min(level.length, to / bin)];
    const [first, last] = [Math.floor(a), Math.min(level.length - 1, Math.floor(b))];
    if (first === last) return level[first]! * (b - a);
    let sum = level[first]! * (first + 1 - a) + level[last]! * (b - last);
    for (let k = first + 1; k < last; k++) sum += level[k]!;
    return sum;
  }

  private exactly(from: number, to: number): number {
    const { start, stop, kind } = this.rank.boxes;
    let sum = 0;
    for (const { first, last } of this.tracks) {
      for (let i = firstAbove(stop, from, first, last); i < last && start[i]! < to; i++) {
        if (!WAITS[kind[i]!]) sum += Math.min(to, stop[i]!) - Math.max(from, start[i]!);
      }
    }
    return sum;
  }
}

/** Sums of the lengths of boxes, so that a merged block knows how full it is without visiting its boxes. */
export class Lengths {
  private readonly sums: Float64Array;

  constructor(private readonly start: Float64Array, private readonly stop: Float64Array) {
    this.sums = new Float64Array(Math.floor(start.length / STRIDE) + 1);
    let sum = 0;
    for (let i = 0; i < start.length; i++) {
      if (i % STRIDE === 0) this.sums[i / STRIDE] = sum;
      sum += stop[i]! - start[i]!;
    }
    if (start.length % STRIDE === 0) this.sums[start.length / STRIDE] = sum;
  }

  between(from: number, to: number): number {
    return this.before(to) - this.before(from);
  }

  private before(box: number): number {
    const block = Math.floor(box / STRIDE);
    let sum = this.sums[block]!;
    for (let i = block * STRIDE; i < box; i++) sum += this.stop[i]! - this.start[i]!;
    return sum;
  }
}
