// Why a processor had nothing to do: the next task was blocked, or waited for its turn, or nobody had
// asked for it yet, and then what the program and the runtime did instead.

import { RUNS } from "./kinds";
import type { Rank, Track } from "./rank";
import { relationsOf } from "./relations";
import { firstAbove } from "./search_sorted";

export interface Gap {
  from: number;
  to: number;
  /** The box that ends it; -1 when nothing came any more. */
  next: number;
}

export interface Reasons {
  /** Nobody had asked for the next task. */
  unasked: number;
  blocked: number;
  ready: number;
  /** The task it waited for last while it was blocked; 0: none. */
  blockedBy: number;
  /** What took most of the program's and the runtime's time while nobody had asked: a box, or -1. */
  program: number;
  runtime: number;
}

export function gapAt(rank: Rank, track: Track, time: number, end: number): Gap | null {
  const { start, stop } = rank.boxes;
  const next = firstAbove(stop, time, track.first, track.last);
  const from = next > track.first ? stop[next - 1]! : 0;
  const to = next < track.last ? start[next]! : end;
  return time >= from && time <= to ? { from, to, next: next < track.last ? next : -1 } : null;
}

export function reasonsOf(rank: Rank, gap: Gap): Reasons {
  const { created, blocked } = rank.tables.tasks;
  const row = gap.next >= 0 && rank.boxes.kind[gap.next] === RUNS ? rank.taskRow(rank.boxes.subject[gap.next]!) : -1;
  const asked = row < 0 ? gap.to : Math.min(gap.to, Math.max(gap.from, created[row]!));
  const ready = row < 0 ? gap.to : Math.min(gap.to, Math.max(asked, created[row]! + blocked[row]!));
  const relations = relationsOf(rank);
  const waited = row < 0 || ready <= asked ? [] : relations.before(rank.boxes.subject[gap.next]!);
  const [last] = waited.sort((a, b) => relations.stopped(b) - relations.stopped(a));
  return {
    unasked: asked - gap.from, blocked: ready - asked, ready: gap.to - ready, blockedBy: last ?? 0,
    program: longestIn(rank, "io", gap.from, asked), runtime: longestIn(rank, "utility", gap.from, asked),
  };
}

const LOOKED_AT = 2000;

/** The box of a lane that covers most of a stretch of time; -1 if there is none. */
function longestIn(rank: Rank, lane: string, from: number, to: number): number {
  const { start, stop } = rank.boxes;
  let [best, most] = [-1, 0];
  for (const { lane: own, first, last } of rank.tracks) {
    if (own !== lane) continue;
    const begin = firstAbove(stop, from, first, last);
    for (let box = begin; box < last && start[box]! < to && box < begin + LOOKED_AT; box++) {
      const inside = Math.min(to, stop[box]!) - Math.max(from, start[box]!);
      if (inside > most) [best, most] = [box, inside];
    }
  }
  return best;
}
