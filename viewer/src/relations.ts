// Who belongs to whom: a task's operations, boxes, edges. Built when first asked for, once a rank.

import { RUNS, SYNC } from "./kinds";
import type { Rank } from "./rank";
import { firstAbove } from "./search_sorted";
import { taskOf } from "./query";

/** Rows grouped by a number in one of their columns. */
class Groups {
  private readonly first: Uint32Array;
  private readonly order: Uint32Array;

  constructor(
    keys: Uint32Array,
    private readonly least: number,
    count: number,
  ) {
    this.first = new Uint32Array(count + 1);
    const inside = (key: number): boolean => key >= least && key - least < count;
    for (let row = 0; row < keys.length; row++) if (inside(keys[row]!)) this.first[keys[row]! - least + 1]!++;
    for (let k = 0; k < count; k++) this.first[k + 1]! += this.first[k]!;
    this.order = new Uint32Array(this.first[count] ?? 0);
    const next = this.first.slice();
    for (let row = 0; row < keys.length; row++) if (inside(keys[row]!)) this.order[next[keys[row]! - least]!++] = row;
  }

  of(key: number): Uint32Array {
    const k = key - this.least;
    if (k < 0 || k + 1 >= this.first.length) return new Uint32Array(0);
    return this.order.subarray(this.first[k]!, this.first[k + 1]!);
  }
}

export interface Cause {
  /** Why it could not start earlier. */
  why: "dependence" | "processor" | "program" | "start";
  task: number;
  /** How long after the cause it started. */
  delay: number;
}

export class Relations {
  private made: Partial<Record<"operations" | "boxes" | "before" | "after" | "copies" | "instances" | "reads", Groups>> = {};
  private named: boolean | undefined;
  /** Rows of instances by their numbers. */
  private byNumber: Map<number, number> | undefined;
  private readonly least: number;
  private readonly count: number;

  constructor(private readonly rank: Rank) {
    let [least, most] = [Infinity, 0];
    const { id } = rank.tables.tasks;
    for (let row = 0; row < id.length; row++) {
      if (id[row]! < least) least = id[row]!;
      if (id[row]! > most) most = id[row]!;
    }
    this.least = Number.isFinite(least) ? least : 0;
    this.count = Number.isFinite(least) ? most - least + 1 : 0;
  }

  private groups(name: keyof Relations["made"], keys: () => Uint32Array): Groups {
    return (this.made[name] ??= new Groups(keys(), this.least, this.count));
  }

  operations(task: number): Uint32Array {
    return this.groups("operations", () => this.rank.tables.operations.task).of(task);
  }

  copies(task: number): Uint32Array {
    return this.groups("copies", () => this.rank.tables.copies.task).of(task);
  }

  /** Rows of the instances that were made for a task. A file that names no tasks there tells by line and time. */
  instances(task: number): Uint32Array {
    const { instances, operations, tasks } = this.rank.tables;
    this.named ??= instances.task.some((maker) => maker > 0);
    if (this.named) return this.groups("instances", () => instances.task).of(task);
    const row = this.rank.taskRow(task);
    if (row < 0) return new Uint32Array(0);
    const lines = new Set([tasks.line[row]!, ...Array.from(this.operations(task), (r) => operations.line[r]!)]);
    const [from, to] = [tasks.created[row]!, this.stopped(task)];
    const made: number[] = [];
    for (let r = 0; r < instances.rows; r++) {
      if (instances.born[r]! < from || instances.born[r]! > to) continue;
      if (lines.has(instances.byLine[r]!) || lines.has(instances.line[r]!)) made.push(r);
    }
    return Uint32Array.from(made);
  }

  /** Rows of the instances that a task read, without those made for it. */
  read(task: number): number[] {
    const { instances, reads } = this.rank.tables;
    if (!this.byNumber) {
      this.byNumber = new Map();
      for (let row = 0; row < instances.rows; row++) this.byNumber.set(instances.id[row]!, row);
    }
    const rows = Array.from(
      this.groups("reads", () => reads.task).of(task),
      (row) => this.byNumber!.get(reads.instance[row]!) ?? -1,
    );
    return rows.filter((row) => row >= 0 && instances.task[row] !== task);
  }

  /** Tasks it had to wait for. */
  before(task: number): number[] {
    return Array.from(
      this.groups("before", () => this.rank.tables.edges.task).of(task),
      (row) => this.rank.tables.edges.from[row]!,
    );
  }

  /** Tasks that had to wait for it. */
  after(task: number): number[] {
    return Array.from(
      this.groups("after", () => this.rank.tables.edges.from).of(task),
      (row) => this.rank.tables.edges.task[row]!,
    );
  }

  /** The boxes in which a task ran, one a processor or more. */
  boxes(task: number): Uint32Array {
    return this.groups("boxes", () => {
      const { kind, subject } = this.rank.boxes;
      const keys = new Uint32Array(kind.length).fill(0xffffffff);
      for (let box = 0; box < keys.length; box++) if (kind[box] === RUNS) keys[box] = subject[box]!;
      return keys;
    }).of(task);
  }

  /** What ran before a box on its processor: -1 if nothing did. */
  previous(box: number): number {
    return box > this.rank.trackOf(box).first ? box - 1 : -1;
  }

  /** What a task waited for last: that is the step before it on the critical path. */
  cause(task: number): Cause {
    const row = this.rank.taskRow(task);
    if (row < 0) return { why: "start", task: 0, delay: 0 };
    const { created, blocked, queued } = this.rank.tables.tasks;
    const started = created[row]! + blocked[row]! + queued[row]!;
    let best: Cause & { at: number } = { why: "program", task: 0, delay: started - created[row]!, at: created[row]! };
    const consider = (why: Cause["why"], other: number, stopped: number): void => {
      if (other !== task && stopped <= started && stopped > best.at)
        best = { why, task: other, delay: started - stopped, at: stopped };
    };
    for (const other of this.before(task)) consider("dependence", other, this.stopped(other));
    // Of its processors the one that was free first counts; the task before may still have run on others.
    const { start, stop, kind, subject } = this.rank.boxes;
    const [earliest] = Array.from(this.boxes(task)).sort((a, b) => start[a]! - start[b]!);
    const previous = earliest === undefined ? -1 : this.previous(earliest);
    if (previous >= 0 && kind[previous] === RUNS) consider("processor", subject[previous]!, stop[previous]!);
    if (best.why === "program") {
      const sync = this.lastSync(created[row]!);
      if (sync > 0 && sync !== task && this.stopped(sync) <= started) best = { ...best, task: sync };
      else best.why = "start";
    }
    return { why: best.why, task: best.task, delay: best.delay };
  }

  /** From a task back to the start of the run, at most `most` steps. */
  path(task: number, most = 500): { task: number; cause: Cause }[] {
    const steps: { task: number; cause: Cause }[] = [];
    const seen = new Set<number>();
    while (task > 0 && !seen.has(task) && steps.length < most) {
      seen.add(task);
      const cause = this.cause(task);
      steps.push({ task, cause });
      task = cause.task;
    }
    return steps;
  }

  stopped(task: number): number {
    const row = this.rank.taskRow(task);
    if (row < 0) return Infinity;
    const { created, blocked, queued, ran } = this.rank.tables.tasks;
    return created[row]! + blocked[row]! + queued[row]! + ran[row]!;
  }

  /** The task that ended last: the critical path's end. */
  lastTask(): number {
    const { id, created, blocked, queued, ran } = this.rank.tables.tasks;
    let [last, at] = [0, -1];
    for (let row = 0; row < id.length; row++) {
      const stopped = created[row]! + blocked[row]! + queued[row]! + ran[row]!;
      if (stopped > at) [last, at] = [id[row]!, stopped];
    }
    return last;
  }

  /** The task of the last wait of the program that ended before a moment; 0 if there is none. */
  private lastSync(time: number): number {
    const { stop, kind } = this.rank.boxes;
    let [best, at] = [0, -1];
    for (const track of this.rank.tracks) {
      if (track.lane !== "io") continue;
      const end = firstAbove(stop, time, track.first, track.last);
      // Far back it would explain nothing: only what came shortly before counts.
      for (let box = end - 1; box >= track.first && box > end - 64; box--) {
        if (kind[box] === SYNC && stop[box]! > at && taskOf(this.rank, box) > 0)
          [best, at] = [taskOf(this.rank, box), stop[box]!];
      }
    }
    return best;
  }
}

const known = new WeakMap<Rank, Relations>();
export function relationsOf(rank: Rank): Relations {
  let made = known.get(rank);
  if (!made) known.set(rank, (made = new Relations(rank)));
  return made;
}
