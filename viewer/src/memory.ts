// How full a memory was, and which arrays filled it.

import type { Rank } from "./rank";
import { firstAbove } from "./search_sorted";

const BLOCK = 64;

export interface Living {
  /** Row in the table of instances. */
  row: number;
  bytes: number;
}

export class MemoryTrack {
  readonly key: string;
  /** The level from `time[i]` on, until the next one. */
  readonly time: Float64Array;
  readonly bytes: Float64Array;
  readonly peak: number;
  readonly peakAt: number;
  /** Rows of the instances of this memory, in the order of their birth, with their end. */
  readonly rows: Uint32Array;
  readonly born: Float64Array;
  readonly died: Float64Array;
  /** Highest level in every block of levels, and latest death in every block of instances. */
  private readonly highest: Float64Array;
  private readonly latest: Float64Array;

  constructor(readonly rank: Rank, readonly id: number, readonly lane: string, readonly label: string, readonly capacity: number) {
    this.key = `m${id}`;
    const { levels, instances } = rank.tables;
    [this.time, this.bytes] = levelsOf(id, levels);
    this.rows = sortedBy(rowsOf(instances.memory, id), instances.born);
    const deaths = deathsOf(rank);
    this.born = picked(instances.born, this.rows);
    this.died = Float64Array.from(this.rows, (row) => deaths.get(instances.id[row]!) ?? Infinity);
    this.highest = blocks(this.bytes);
    this.latest = blocks(this.died);
    let [peak, at] = [0, 0];
    for (let i = 0; i < this.bytes.length; i++) if (this.bytes[i]! > peak) [peak, at] = [this.bytes[i]!, this.time[i]!];
    for (let row = 0; row < levels.rows; row++) if (levels.memory[row] === id && levels.peak[row]! > peak) peak = levels.peak[row]!;
    this.peak = peak;
    this.peakAt = at;
  }

  get empty(): boolean {
    return this.peak === 0 && this.rows.length === 0;
  }

  lastMoment(): number {
    return this.time.length ? this.time[this.time.length - 1]! : 0;
  }

  levelAt(time: number): number {
    const after = firstAbove(this.time, time, 0, this.time.length);
    return after ? this.bytes[after - 1]! : 0;
  }

  /** The highest level between two moments, blocks of samples at a time. */
  highestIn(from: number, to: number): number {
    let i = Math.max(0, firstAbove(this.time, from, 0, this.time.length) - 1);
    const end = firstAbove(this.time, to, i, this.time.length);
    let high = this.time.length && this.time[0]! <= to ? this.bytes[i]! : 0;
    while (i < end) {
      if (i % BLOCK === 0 && i + BLOCK <= end) {
        high = Math.max(high, this.highest[i / BLOCK]!);
        i += BLOCK;
      } else high = Math.max(high, this.bytes[i++]!);
    }
    return high;
  }

  /** The instances that live at a moment, the largest first. */
  living(time: number): Living[] {
    const { bytes } = this.rank.tables.instances;
    const end = firstAbove(this.born, time, 0, this.born.length);
    const found: Living[] = [];
    for (let i = 0; i < end; i++) {
      if (i % BLOCK === 0 && this.latest[i / BLOCK]! <= time) i += BLOCK - 1;
      else if (this.died[i]! > time) found.push({ row: this.rows[i]!, bytes: bytes[this.rows[i]!]! });
    }
    return found.sort((a, b) => b.bytes - a.bytes);
  }
}

function levelsOf(id: number, levels: Rank["tables"]["levels"]): [Float64Array, Float64Array] {
  const rows = sortedBy(rowsOf(levels.memory, id), levels.time);
  return [picked(levels.time, rows), picked(levels.bytes, rows)];
}

function picked(column: Float64Array, rows: Uint32Array): Float64Array {
  const out = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) out[i] = column[rows[i]!]!;
  return out;
}

function rowsOf(column: Uint32Array, id: number): Uint32Array {
  let count = 0;
  for (const value of column) count += Number(value === id);
  const rows = new Uint32Array(count);
  let at = 0;
  for (let row = 0; row < column.length; row++) if (column[row] === id) rows[at++] = row;
  return rows;
}

function sortedBy(rows: Uint32Array, key: Float64Array): Uint32Array {
  for (let i = 1; i < rows.length; i++) if (key[rows[i]!]! < key[rows[i - 1]!]!) return rows.sort((a, b) => key[a]! - key[b]!);
  return rows;
}

const known = new WeakMap<Rank, Map<number, number>>();

/** When each instance ended, by its number. */
export function deathsOf(rank: Rank): Map<number, number> {
  let found = known.get(rank);
  if (!found) {
    const { deaths } = rank.tables;
    found = new Map();
    for (let row = 0; row < deaths.rows; row++) found.set(deaths.instance[row]!, deaths.time[row]!);
    known.set(rank, found);
  }
  return found;
}

function blocks(column: Float64Array): Float64Array {
  const out = new Float64Array(Math.ceil(column.length / BLOCK)).fill(-Infinity);
  for (let i = 0; i < column.length; i++) {
    const block = Math.floor(i / BLOCK);
    if (column[i]! > out[block]!) out[block] = column[i]!;
  }
  return out;
}
