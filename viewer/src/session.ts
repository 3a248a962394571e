// The runs on the page: files sorted into runs and ranks, and what is derived from them once.

import { Lengths, Pyramid } from "./busy";
import type { ReadFile } from "./format";
import { LANES } from "./kinds";
import { Names, Rank, type Track } from "./rank";
import type { Tables } from "./tables";

export interface Run {
  index: number;
  /** "A" and "B" where there are two. */
  letter: string;
  title: string;
  ranks: Rank[];
  end: number;
}

/** A box, wherever it is. */
export interface BoxAt {
  rank: Rank;
  box: number;
}

export class Session {
  readonly names = new Names();
  readonly ranks: Rank[] = [];
  readonly runs: Run[] = [];
  /** Names by the time spent under them, most first: the order in which colours are given out. */
  readonly nameOrder: number[];
  readonly end: number;
  readonly boxCount: number;
  private readonly pyramids = new Map<string, Pyramid>();
  private readonly lengths = new Map<Rank, Lengths>();

  constructor(files: ReadFile[]) {
    for (const group of runsOf(files)) {
      alignRanks(group);
      const run: Run = {
        index: this.runs.length,
        letter: String.fromCharCode(65 + this.runs.length),
        title: "",
        ranks: [],
        end: 0,
      };
      for (const file of group) {
        const rank = new Rank(file, this.names, this.ranks.length);
        this.ranks.push(rank);
        run.ranks.push(rank);
        run.end = Math.max(run.end, rank.end);
      }
      const first = run.ranks[0]!;
      const program = (first.meta.get("program") ?? "").split("/").pop() ?? "";
      const named = first.meta.get("name") ?? "";
      run.title = [named && named !== program ? named : "", program].filter(Boolean).join(" · ") || group[0]!.name;
      this.runs.push(run);
    }
    this.end = Math.max(1, ...this.runs.map((run) => run.end));
    this.boxCount = this.ranks.reduce((sum, rank) => sum + rank.boxes.start.length, 0);
    this.nameOrder = this.namesByTime();
  }

  runOf(rank: Rank): Run {
    return this.runs.find((run) => run.ranks.includes(rank))!;
  }

  tracksOf(rank: Rank, lane: string): Track[] {
    return rank.tracks.filter((track) => track.lane === lane && track.last > track.first);
  }

  pyramid(rank: Rank, lane: string): Pyramid {
    const key = `${rank.index}.${lane}`;
    let made = this.pyramids.get(key);
    if (!made) this.pyramids.set(key, (made = new Pyramid(rank, this.tracksOf(rank, lane), this.end)));
    return made;
  }

  lengthsOf(rank: Rank): Lengths {
    let made = this.lengths.get(rank);
    if (!made) this.lengths.set(rank, (made = new Lengths(rank.boxes.start, rank.boxes.stop)));
    return made;
  }

  /** Lanes with nothing in any row of the rank. */
  emptyLanes(rank: Rank): string[] {
    return LANES.filter(
      ({ id }) => this.tracksOf(rank, id).length === 0 && !rank.memories.some((m) => m.lane === id && !m.empty),
    ).map(({ id }) => id);
  }

  private namesByTime(): number[] {
    const time = new Float64Array(this.names.texts.length);
    for (const rank of this.ranks) {
      const { start, stop } = rank.boxes;
      // Every box of a small run; of a large one a sample is enough to put names in order.
      const step = Math.max(1, Math.floor(start.length / 60_000));
      for (let i = 0; i < start.length; i += step) time[rank.nameOf(i)]! += stop[i]! - start[i]!;
    }
    return Array.from(time.keys())
      .filter((name) => time[name]! > 0)
      .sort((a, b) => time[b]! - time[a]!);
  }
}

const metaOf = (file: ReadFile, key: string): string => {
  const { meta } = file.tables;
  const row = meta.key.lastIndexOf(key);
  return row < 0 ? "" : meta.value[row]!;
};

/** Files with the same program and number of ranks are one run, until a rank comes a second time. */
function runsOf(files: ReadFile[]): ReadFile[][] {
  const runs: { key: string; seen: Set<string>; files: ReadFile[] }[] = [];
  for (const file of files) {
    const key = ["program", "command", "name", "ranks"].map((k) => metaOf(file, k)).join("\n");
    const rank = metaOf(file, "rank") || "0";
    const alone = Number(metaOf(file, "ranks") || "1") < 2;
    const run = alone ? undefined : runs.find((r) => r.key === key && !r.seen.has(rank));
    if (run) {
      run.seen.add(rank);
      run.files.push(file);
    } else runs.push({ key, seen: new Set([rank]), files: [file] });
  }
  for (const run of runs) run.files.sort((a, b) => Number(metaOf(a, "rank")) - Number(metaOf(b, "rank")));
  return runs.map((run) => run.files);
}

const HOUR = 3600e9;

/** Ranks count from their own start; the Unix times of these put them on one axis. */
function alignRanks(files: ReadFile[]): void {
  const starts = files.map((file) => metaOf(file, "started"));
  if (files.length < 2 || starts.some((start) => !/^\d+$/.test(start))) return;
  const first = starts.map(BigInt).reduce((a, b) => (a < b ? a : b));
  files.forEach((file, i) => {
    const late = Number(BigInt(starts[i]!) - first);
    if (late > 0 && late < HOUR) shift(file.tables, late);
  });
}

function shift(tables: Tables, by: number): void {
  const moments = [
    tables.tasks.created,
    tables.spans.started,
    tables.operations.recorded,
    tables.instances.born,
    tables.deaths.time,
    tables.copies.started,
    tables.levels.time,
    tables.ranges.started,
    tables.small.first,
    tables.small.last,
    tables.uses.time,
    tables.counters.time,
    tables.end.time,
    tables.held.lastRead,
  ];
  for (const column of moments) for (let row = 0; row < column.length; row++) column[row]! += by;
}
