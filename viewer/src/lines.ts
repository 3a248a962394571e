// What each line of the program cost, and how that differs between two runs.

import { RUNS } from "./kinds";
import { isWait } from "./busy";
import { sourceLines } from "./query";
import type { Rank } from "./rank";
import { relationsOf } from "./relations";
import type { Run } from "./session";

export interface LineCost {
  file: string;
  line: number;
  text: string;
  /** Processor time of the line's share in its tasks. */
  time: number;
  /** Time the program stood still there: syncs, a full window, waits inside tasks. */
  waits: number;
  /** The program's own time there: Python, recording, fallbacks. */
  python: number;
  bytes: number;
  tasks: number;
  /** Bytes of the arrays that it made. */
  made: number;
  /** Operations so small that they ran at once. */
  small: number;
}

export interface SourceFile {
  path: string;
  name: string;
  lines: string[];
}

export class Costs {
  readonly byLine = new Map<string, LineCost>();
  readonly files = new Map<string, SourceFile>();
  readonly program: string;

  constructor(run: Run) {
    this.program = shortName(run.ranks[0]!.meta.get("program") ?? "");
    for (const rank of run.ranks) {
      for (const [path, lines] of sourceLines(rank)) this.files.set(path, { path, name: shortName(path), lines });
      this.addRank(rank);
    }
  }

  at(file: string, line: number): LineCost | undefined {
    return this.byLine.get(`${file}:${line}`);
  }

  private cost(rank: Rank, line: number): LineCost | null {
    const place = rank.place(line);
    if (!place) return null;
    const key = `${place.file}:${place.line}`;
    let cost = this.byLine.get(key);
    if (!cost) {
      const text = this.files.get(place.file)?.lines[place.line - 1] ?? "";
      cost = { file: place.file, line: place.line, text, time: 0, waits: 0, python: 0, bytes: 0, tasks: 0, made: 0, small: 0 };
      this.byLine.set(key, cost);
    }
    return cost;
  }

  /** Sums into columns by line number first: lines are few, boxes many. */
  private addRank(rank: Rank): void {
    const lines = rank.tables.lines.rows + 1;
    const sums = {
      time: col(lines), waits: col(lines), python: col(lines), bytes: col(lines), tasks: col(lines), made: col(lines), small: col(lines),
    };
    const { boxes } = rank;
    const { tasks, operations, instances } = rank.tables;
    const taskTime = new Float64Array(tasks.rows);
    for (let box = 0; box < boxes.kind.length; box++) {
      const kind = boxes.kind[box]!;
      const length = boxes.stop[box]! - boxes.start[box]!;
      const row = kind <= 1 ? rank.taskRow(boxes.subject[box]!) : -1;
      if (kind === RUNS && row >= 0) taskTime[row]! += length;
      else if (kind === RUNS) sums.time[boxes.line[box]!]! += length;
      else if (isWait(kind)) sums.waits[rank.lineOf(box)]! += length;
      else if (kind >= 20 && kind <= 24) sums.python[boxes.line[box]!]! += length;
    }
    const relations = operations.rows ? relationsOf(rank) : null;
    for (let row = 0; row < tasks.rows; row++) {
      const moved = tasks.read[row]! + tasks.written[row]!;
      const inside = relations?.operations(tasks.id[row]!);
      if (!inside || inside.length === 0) {
        const line = tasks.line[row]!;
        sums.time[line]! += taskTime[row]!;
        sums.bytes[line]! += moved;
        sums.tasks[line]! += 1;
        continue;
      }
      // Operations of a task share its time and bytes equally; a task counts once for a line.
      const share = 1 / inside.length;
      for (let k = 0; k < inside.length; k++) {
        const line = operations.line[inside[k]!]!;
        sums.time[line]! += taskTime[row]! * share;
        sums.bytes[line]! += moved * share;
        let again = false;
        for (let j = 0; j < k && !again; j++) again = operations.line[inside[j]!] === line;
        if (!again) sums.tasks[line]! += 1;
      }
    }
    for (let row = 0; row < instances.rows; row++) sums.made[instances.line[row]!]! += instances.bytes[row]!;
    const { small } = rank.tables;
    for (let row = 0; row < small.rows; row++) sums.small[small.line[row]!]! += small.count[row]!;
    for (let line = 1; line < lines; line++) {
      const cost = this.cost(rank, line);
      if (!cost) continue;
      for (const key of Object.keys(sums) as (keyof typeof sums)[]) cost[key] += sums[key][line]!;
    }
  }
}

const col = (rows: number): Float64Array => new Float64Array(rows);
export const shortName = (path: string): string => path.split("/").pop() ?? path;

const known = new WeakMap<Run, Costs>();
export function costsOf(run: Run): Costs {
  let made = known.get(run);
  if (!made) known.set(run, (made = new Costs(run)));
  return made;
}

export interface LinePair {
  before?: LineCost;
  after?: LineCost;
}

/** Lines of two runs side by side: the same text in the program or in a file of the same name, the nearest first. */
export function pairLines(a: Costs, b: Costs): LinePair[] {
  const nameIn = (costs: Costs, file: string): string => (shortName(file) === costs.program ? "" : shortName(file));
  const pairs: LinePair[] = [];
  const open = new Set(b.byLine.values());
  for (const before of a.byLine.values()) {
    let best: LineCost | undefined;
    for (const after of open) {
      const same = after.text.trim() === before.text.trim() && nameIn(b, after.file) === nameIn(a, before.file);
      if (same && (!best || Math.abs(after.line - before.line) < Math.abs(best.line - before.line))) best = after;
    }
    if (best) open.delete(best);
    pairs.push({ before, after: best });
  }
  for (const after of open) pairs.push({ after });
  return pairs;
}

export const totalOf = (cost: LineCost | undefined): number => (cost ? cost.time + cost.waits + cost.python : 0);
