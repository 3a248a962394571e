// The boxes of a track. A box of three pixels or more is drawn by itself; smaller ones are merged into
// grey blocks that are as dark as they are full, so that work never looks like an empty place.

import { isWait, type Lengths } from "./busy";
import { BLOCKED, READY, RUNNING } from "./colour";
import { RUNS } from "./kinds";
import { FONTS, fitted, type Painter } from "./painter";
import type { Rank, Track } from "./rank";
import { GUTTER, scaleOf, xOf, type Scene } from "./scene";
import { firstAbove, firstAboveNear } from "./search_sorted";

export const LEAST_WIDTH = 3;
const LABEL_WIDTH = 34;
const MOST_BOXES = 20_000;

/** Sorted boxes to draw: all of a track's, or those that match a query. */
interface Series {
  start: Float64Array;
  stop: Float64Array;
  first: number;
  last: number;
  lengths: Lengths;
  ids: Uint32Array | null;
  /** The track's first box, which may not be in the series. */
  firstBox: number;
}

/** A block of boxes too small to be drawn: [from, to) of the track's boxes. */
export interface Block {
  from: number;
  to: number;
}

/** Blocks begin at multiples of their width in time, not on the screen: they do not shimmer while one pans. */
export function blockAfter(start: Float64Array, stop: Float64Array, i: number, last: number, scale: number): number {
  const width = LEAST_WIDTH / scale;
  const edge = (Math.floor(start[i]! / width) + 1) * width;
  const next = firstAboveNear(start, edge, i, last);
  // The last one may reach far beyond the block, and then stands for itself.
  return next - 1 > i && (stop[next - 1]! - start[next - 1]!) * scale >= LEAST_WIDTH ? next - 1 : next;
}

export function drawTrack(p: Painter, scene: Scene, rank: Rank, track: Track, y: number, height: number): void {
  const { start, stop } = rank.boxes;
  const all: Series = { start, stop, first: track.first, last: track.last, lengths: scene.session.lengthsOf(rank), ids: null, firstBox: track.first };
  const found = scene.matches?.get(rank);
  if (!found) return drawSeries(p, scene, rank, all, y, height, 1);
  if (!scene.view.only) drawSeries(p, scene, rank, all, y, height, scene.theme.name === "light" ? 0.13 : 0.16);
  const first = indexIn(found.ids, track.first);
  const last = indexIn(found.ids, track.last);
  drawSeries(p, scene, rank, { ...found, first, last, firstBox: track.first }, y, height, 1);
}

/** How many of the sorted numbers lie before `box`. */
export function indexIn(ids: Uint32Array, box: number): number {
  let [from, to] = [0, ids.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (ids[middle]! >= box) to = middle;
    else from = middle + 1;
  }
  return from;
}

function drawSeries(p: Painter, scene: Scene, rank: Rank, s: Series, y: number, height: number, alpha: number): void {
  const { palette, theme, view } = scene;
  const scale = scaleOf(scene);
  const { start, stop, last } = s;
  let i = firstAbove(stop, view.from, s.first, last);
  // Small boxes and blocks fill whole pixels, each once: a hair of grey would round to nothing.
  let painted = GUTTER - 2;
  for (let drawn = 0; i < last && start[i]! < view.to && drawn < MOST_BOXES; drawn++) {
    const [a, b] = [start[i]!, stop[i]!];
    const single = (b - a) * scale >= LEAST_WIDTH;
    const next = single ? i + 1 : blockAfter(start, stop, i, last, scale);
    const box = s.ids ? s.ids[i]! : i;
    if (alpha === 1) drawWaiting(p, scene, rank, box, box > s.firstBox ? rank.boxes.stop[box - 1]! : 0, y, height);
    const x = Math.max(GUTTER - 2, xOf(scene, a));
    if (!single) {
      const end = stop[next - 1]!;
      const [left, right] = [Math.max(painted, Math.floor(x)), Math.floor(xOf(scene, end)) + 1];
      const share = s.lengths.between(i, next) / Math.max(1, end - a);
      const fill = next - i === 1 ? palette.of(rank.nameOf(box), isWait(rank.boxes.kind[box]!) ? BLOCKED : RUNNING) : theme.merged;
      if (right > left) p.rect(left, y, right - left, height, fill, next - i === 1 ? alpha : alpha * (0.4 + 0.6 * Math.min(1, share)));
      painted = Math.max(painted, right);
    } else {
      const right = Math.min(scene.width, xOf(scene, b));
      const shade = isWait(rank.boxes.kind[box]!) ? BLOCKED : RUNNING;
      const name = rank.nameOf(box);
      // A hair of space keeps equal neighbours apart.
      p.rect(x, y, right - x - (right - x > 4 ? 0.75 : 0), height, palette.of(name, shade), alpha);
      if (right - x > LABEL_WIDTH && alpha === 1) {
        const words = fitted(scene.session.names.texts[name]!, right - x - 10, FONTS.small);
        if (words) p.text(words, x + 5, y + height / 2 + 0.5, shade === RUNNING ? theme.onBox : theme.soft, FONTS.small);
      }
    }
    i = next;
  }
}

/** Before a task's box, in the free place: from created to ready it was blocked, from ready on it waited for its turn. */
function drawWaiting(p: Painter, scene: Scene, rank: Rank, box: number, before: number, y: number, height: number): void {
  if (rank.boxes.kind[box] !== RUNS) return;
  const row = rank.taskRow(rank.boxes.subject[box]!);
  if (row < 0) return;
  const { created, blocked } = rank.tables.tasks;
  const start = rank.boxes.start[box]!;
  const from = Math.max(before, created[row]!, scene.view.from);
  const scale = scaleOf(scene);
  if ((start - from) * scale < 1.5) return;
  const ready = Math.min(start, Math.max(from, created[row]! + blocked[row]!));
  const name = rank.nameOf(box);
  const [x0, x1, x2] = [xOf(scene, from), xOf(scene, ready), xOf(scene, start)];
  if (x1 - x0 > 0.5) p.rect(x0, y, x1 - x0, height, scene.palette.of(name, BLOCKED));
  if (x2 - x1 > 0.5) p.rect(x1, y, x2 - x1, height, scene.palette.of(name, READY));
}
