// Which rows stand on the page, in which order and how high: runs, nodes, lanes, tracks, memories.

import { LANES, type LaneKind } from "./kinds";
import type { MemoryTrack } from "./memory";
import type { Rank, Track } from "./rank";
import type { Run, Session } from "./session";

interface Placed {
  key: string;
  label: string;
  y: number;
  height: number;
}

export type Row = Placed &
  (
    | { type: "run"; run: Run }
    | { type: "node"; run: Run; ranks: Rank[]; folded: boolean }
    | { type: "phases"; rank: Rank }
    | { type: "lane"; lane: LaneKind; run: Run; ranks: Rank[]; folded: boolean; leaf: boolean }
    | { type: "track"; lane: LaneKind; rank: Rank; track: Track }
    | { type: "memory"; lane: LaneKind; rank: Rank; memory: MemoryTrack }
    | { type: "empty"; rank: Rank; folded: boolean }
  );

const HEIGHTS = { run: 34, node: 30, lane: 34, track: 20, memory: 64, phase: 17, empty: 28 };
export const PHASE_HEIGHT = HEIGHTS.phase;
/** Lanes with more rows than this, and nodes beyond this many, start folded. */
const MANY_TRACKS = 24;
const MANY_NODES = 4;

export function layout(session: Session, flipped: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  let y = 0;
  const add = (row: Row): void => {
    row.y = y;
    y += row.height;
    rows.push(row);
  };
  const isFolded = (key: string, usually: boolean): boolean => flipped.has(key) !== usually;
  const several = session.runs.length > 1;
  for (const run of session.runs) {
    if (several) add({ type: "run", key: `r${run.index}`, label: run.title, y: 0, height: HEIGHTS.run, run });
    if (run.ranks.length > 1) {
      const key = `r${run.index}.all`;
      const folded = isFolded(key, false);
      add({ type: "node", key, label: "All nodes", y: 0, height: HEIGHTS.node, run, ranks: run.ranks, folded });
      if (!folded) {
        for (const lane of LANES) {
          if (run.ranks.every((rank) => session.emptyLanes(rank).includes(lane.id))) continue;
          add({ type: "lane", key: `${key}.${lane.id}`, label: lane.name, y: 0, height: HEIGHTS.lane, lane, run, ranks: run.ranks, folded: true, leaf: true });
        }
      }
    }
    for (const rank of run.ranks) {
      const key = `n${rank.index}`;
      if (run.ranks.length > 1) {
        const folded = isFolded(key, run.ranks.length > MANY_NODES);
        const host = rank.meta.get("host");
        const label = `Node ${rank.number}${host ? ` · ${host}` : ""}`;
        add({ type: "node", key, label, y: 0, height: HEIGHTS.node, run, ranks: [rank], folded });
        if (folded) continue;
      }
      addRank(session, run, rank, key, add, isFolded);
    }
  }
  return rows;
}

function addRank(
  session: Session, run: Run, rank: Rank, node: string, add: (row: Row) => void, isFolded: (key: string, usually: boolean) => boolean,
): void {
  const { ranges } = rank.tables;
  if (ranges.rows) {
    const depth = Math.min(4, ranges.depth.reduce((a, b) => Math.max(a, b), 0) + 1);
    add({ type: "phases", key: `${node}.phases`, label: "Phases", y: 0, height: depth * PHASE_HEIGHT + 6, rank });
  }
  const empty = session.emptyLanes(rank);
  const emptyKey = `${node}.empty`;
  const emptyFolded = isFolded(emptyKey, true);
  const addLane = (lane: LaneKind): void => {
    const key = `${node}.${lane.id}`;
    const tracks = session.tracksOf(rank, lane.id);
    const memories = rank.memories.filter((memory) => memory.lane === lane.id && !memory.empty);
    const folded = isFolded(key, tracks.length > MANY_TRACKS);
    const leaf = tracks.length + memories.length === 0;
    add({ type: "lane", key, label: lane.name, y: 0, height: HEIGHTS.lane, lane, run, ranks: [rank], folded, leaf });
    if (folded) return;
    for (const memory of memories) {
      add({ type: "memory", key: `${key}.${memory.key}`, label: memory.label, y: 0, height: HEIGHTS.memory, lane, rank, memory });
    }
    for (const track of tracks) {
      add({ type: "track", key: `${key}.${track.key}`, label: track.label, y: 0, height: HEIGHTS.track, lane, rank, track });
    }
  };
  for (const lane of LANES) if (!empty.includes(lane.id)) addLane(lane);
  if (empty.length) {
    const names = LANES.filter(({ id }) => empty.includes(id)).map(({ name }) => name);
    const label = `${names.length} empty ${names.length === 1 ? "lane" : "lanes"}`;
    add({ type: "empty", key: emptyKey, label, y: 0, height: HEIGHTS.empty, rank, folded: emptyFolded });
    if (!emptyFolded) for (const lane of LANES) if (empty.includes(lane.id)) addLane(lane);
  }
}

export function heightOf(rows: Row[]): number {
  const last = rows[rows.length - 1];
  return last ? last.y + last.height : 0;
}

export const rowAt = (rows: Row[], y: number): Row | undefined => rows.find((row) => y >= row.y && y < row.y + row.height);
