// What changes with the pointer: crosshair, outlines, the critical path, a range being dragged. Drawn on
// a canvas of its own, so that moving the pointer does not draw the rows again.

import { FONTS, type Painter } from "./painter";
import { relationsOf } from "./relations";
import type { Hit } from "./hit";
import type { Rank } from "./rank";
import { GUTTER, OVERVIEW, RULER, TOP, timeAt, topOf, xOf, type Scene } from "./scene";
import type { BoxAt } from "./session";
import { taskOf } from "./query";
import { moment, time } from "./words";

export interface Pointer {
  x: number;
  y: number;
  hit: Hit | null;
  /** Where a range begins that is being dragged. */
  dragFrom: number | null;
}

export function drawOverlay(p: Painter, scene: Scene, pointer: Pointer | null, selected: BoxAt | null, withPath: boolean): void {
  const { theme, width, height } = scene;
  p.clip(GUTTER, TOP, width - GUTTER, height - TOP, () => {
    if (selected) {
      if (withPath) drawPath(p, scene, selected);
      const task = taskOf(selected.rank, selected.box);
      if (task) for (const box of relationsOf(selected.rank).boxes(task)) outline(p, scene, selected.rank, box, theme.accent, 1);
      outline(p, scene, selected.rank, selected.box, theme.accent, 2);
    }
    if (pointer?.hit?.box) outline(p, scene, pointer.hit.box.rank, pointer.hit.box.box, theme.ink, 1);
  });
  if (!pointer || pointer.x < GUTTER || pointer.y < OVERVIEW) return;
  if (pointer.dragFrom !== null) {
    const [x0, x1] = [Math.min(pointer.dragFrom, pointer.x), Math.max(pointer.dragFrom, pointer.x)];
    p.rect(x0, OVERVIEW, x1 - x0, height - OVERVIEW, theme.accent, 0.12);
    p.line(x0, OVERVIEW, x0, height, theme.accent);
    p.line(x1, OVERVIEW, x1, height, theme.accent);
    badge(p, scene, (x0 + x1) / 2, time(timeAt(scene, x1) - timeAt(scene, x0)));
    return;
  }
  const x = Math.round(pointer.x) + 0.5;
  p.line(x, TOP, x, height, theme.faint, 1, [3, 3]);
  badge(p, scene, x, moment(timeAt(scene, pointer.x), scene.view.span));
}

function badge(p: Painter, scene: Scene, x: number, words: string): void {
  const wide = p.width(words, FONTS.small) + 14;
  const left = Math.min(scene.width - wide - 2, Math.max(GUTTER, x - wide / 2));
  p.rect(left, OVERVIEW + 4, wide, RULER - 8, scene.theme.ink);
  p.text(words, left + wide / 2, OVERVIEW + RULER / 2 + 0.5, scene.theme.surface, FONTS.small, "center");
}

function rowOf(scene: Scene, rank: Rank, box: number): { y: number; height: number } | null {
  for (const row of scene.rows) {
    if (row.type === "track" && row.rank === rank && box >= row.track.first && box < row.track.last) {
      return { y: topOf(scene, row) + 2, height: row.height - 4 };
    }
  }
  return null;
}

function outline(p: Painter, scene: Scene, rank: Rank, box: number, stroke: string, width: number): void {
  const row = rowOf(scene, rank, box);
  if (!row) return;
  const x0 = xOf(scene, rank.boxes.start[box]!) - 1;
  const x1 = Math.max(x0 + 3, xOf(scene, rank.boxes.stop[box]!) + 0.5);
  if (x1 < GUTTER || x0 > scene.width) return;
  p.path([x0, row.y - 1, x1, row.y - 1, x1, row.y + row.height + 1, x0, row.y + row.height + 1, x0, row.y - 1], stroke, width);
}

/** The critical path behind the selected task, box to box, where its rows are on the page. */
function drawPath(p: Painter, scene: Scene, selected: BoxAt): void {
  const task = taskOf(selected.rank, selected.box);
  if (!task) return;
  const relations = relationsOf(selected.rank);
  let from: { x: number; y: number } | null = null;
  for (const step of relations.path(task, 300)) {
    const box = relations.boxes(step.task)[0];
    const row = box === undefined ? null : rowOf(scene, selected.rank, box);
    if (box === undefined || !row) continue;
    // Along the lower edge, where it hides no name.
    const y = row.y + row.height - 1;
    const [x0, x1] = [xOf(scene, selected.rank.boxes.start[box]!), xOf(scene, selected.rank.boxes.stop[box]!)];
    if (from) p.path([x1, y, from.x, from.y], scene.theme.mark, 1.25, 0.9);
    p.path([x0, y, x1, y], scene.theme.mark, 2, 0.9);
    from = { x: x0, y };
    if (x1 < GUTTER - 2000) break;
  }
}
