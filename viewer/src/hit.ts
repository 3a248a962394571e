// What lies under the pointer.

import { blockAfter, indexIn, LEAST_WIDTH, type Block } from "./draw_boxes";
import { gapAt, type Gap } from "./gap";
import type { Rank, Track } from "./rank";
import { PHASE_HEIGHT, rowAt, type Row } from "./rows";
import { GUTTER, TOP, scaleOf, timeAt, topOf, type Scene } from "./scene";
import { firstAbove } from "./search_sorted";
import type { BoxAt } from "./session";

export interface Hit {
  row: Row;
  time: number;
  inGutter: boolean;
  box?: BoxAt;
  block?: Block;
  gap?: Gap;
  /** Row in the table of ranges. */
  phase?: number;
}

const NEAR = 2;

export function hitAt(scene: Scene, x: number, y: number): Hit | null {
  if (y < TOP) return null;
  const row = rowAt(scene.rows, y - TOP + scene.view.scroll);
  if (!row) return null;
  const hit: Hit = { row, time: timeAt(scene, x), inGutter: x < GUTTER };
  if (hit.inGutter) return hit;
  if (row.type === "track") {
    Object.assign(hit, onTrack(scene, row.rank, row.track, hit.time));
    if (!hit.box && !hit.block) hit.gap = gapAt(row.rank, row.track, hit.time, row.rank.end) ?? undefined;
  }
  if (row.type === "phases") {
    const { ranges } = row.rank.tables;
    const depth = Math.floor((y - topOf(scene, row) - 3) / PHASE_HEIGHT);
    for (let r = 0; r < ranges.rows; r++) {
      const inside = hit.time >= ranges.started[r]! && hit.time <= ranges.started[r]! + ranges.ran[r]!;
      if (inside && Math.min(3, ranges.depth[r]!) === depth) hit.phase = r;
    }
  }
  return hit;
}

function onTrack(scene: Scene, rank: Rank, track: Track, time: number): Partial<Hit> {
  const hit = onBoxes(scene, rank, track, time);
  const shown = scene.view.only ? scene.matches?.get(rank) : undefined;
  if (!shown) return hit;
  // What is hidden cannot be hit.
  const isShown = (box: number): boolean => indexIn(shown.ids, box + 1) > indexIn(shown.ids, box);
  if (hit.box) return isShown(hit.box.box) ? hit : {};
  return hit.block && indexIn(shown.ids, hit.block.to) > indexIn(shown.ids, hit.block.from) ? hit : {};
}

function onBoxes(scene: Scene, rank: Rank, track: Track, time: number): Partial<Hit> {
  const { start, stop } = rank.boxes;
  const scale = scaleOf(scene);
  const near = NEAR / scale;
  const first = firstAbove(stop, time - near, track.first, track.last);
  if (first === track.last || start[first]! > time + near) return {};
  // Boxes drawn by themselves are hit first where they contain the point.
  for (let i = first; i < track.last && start[i]! <= time + near && i < first + 64; i++) {
    if ((stop[i]! - start[i]!) * scale >= LEAST_WIDTH && start[i]! <= time && stop[i]! >= time) return { box: { rank, box: i } };
  }
  const width = LEAST_WIDTH / scale;
  const from = Math.max(track.first, firstAbove(start, Math.floor(start[first]! / width) * width - 1, track.first, first));
  const to = blockAfter(start, stop, first, track.last, scale);
  return to - from <= 1 ? { box: { rank, box: first } } : { block: { from, to } };
}
