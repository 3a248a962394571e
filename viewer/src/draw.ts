// The picture: overview, ruler, rows. The same for the screen, PNG and SVG.

import { drawMemory, drawOverview, drawUse, meanUse } from "./draw_charts";
import { drawTrack } from "./draw_boxes";
import { BLOCKED, READY, RUNNING } from "./colour";
import { LANES } from "./kinds";
import { FONTS, fitted, type Painter } from "./painter";
import { PHASE_HEIGHT, type Row } from "./rows";
import { GUTTER, OVERVIEW, RULER, TOP, scaleOf, topOf, xOf, type Scene } from "./scene";
import { bytes, percent, tick, time } from "./words";

export function drawScene(p: Painter, scene: Scene): void {
  const { theme, width, height } = scene;
  p.rect(0, 0, width, height, theme.surface);
  const visible = scene.rows.filter((row) => topOf(scene, row) < height && topOf(scene, row) + row.height > TOP);
  p.clip(0, TOP, width, height - TOP, () => {
    drawGrid(p, scene);
    p.clip(GUTTER, TOP, width - GUTTER, height - TOP, () => {
      for (const row of visible) drawRow(p, scene, row, topOf(scene, row));
    });
    for (const row of visible) drawLabel(p, scene, row, topOf(scene, row));
    p.line(GUTTER - 0.5, TOP, GUTTER - 0.5, height, theme.line);
  });
  drawOverview(p, scene);
  drawRuler(p, scene);
}

/** A step of 1, 2 or 5 times a power of ten that leaves about `room` pixels between ticks. */
function tickStep(scene: Scene, room: number): number {
  const least = room / scaleOf(scene);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least)!;
}

function ticks(scene: Scene): { step: number; times: number[] } {
  const step = tickStep(scene, 110);
  const times: number[] = [];
  for (let t = Math.ceil(scene.view.from / step) * step; t < scene.view.to; t += step) times.push(t);
  return { step, times };
}

function drawGrid(p: Painter, scene: Scene): void {
  for (const t of ticks(scene).times) {
    const x = Math.round(xOf(scene, t)) + 0.5;
    if (x > GUTTER) p.line(x, TOP, x, scene.height, scene.theme.line, 1, [1, 3]);
  }
}

function drawRuler(p: Painter, scene: Scene): void {
  const { theme, width } = scene;
  p.rect(0, OVERVIEW, width, RULER, theme.surface);
  p.line(0, OVERVIEW + 0.5, width, OVERVIEW + 0.5, theme.line);
  p.line(0, TOP - 0.5, width, TOP - 0.5, theme.line);
  p.text(time(scene.view.span), 16, OVERVIEW + RULER / 2, theme.soft, FONTS.small);
  p.text("in view", GUTTER - 14, OVERVIEW + RULER / 2, theme.faint, FONTS.small, "right");
  const { step, times } = ticks(scene);
  p.clip(GUTTER, OVERVIEW, width - GUTTER, RULER, () => {
    for (const t of times) {
      const x = Math.round(xOf(scene, t)) + 0.5;
      p.line(x, TOP - 6, x, TOP - 1, theme.faint);
      p.text(tick(t, step, Math.max(scene.view.to, -scene.view.from)), x + 5, OVERVIEW + RULER / 2, theme.soft, FONTS.small);
    }
  });
}

function drawRow(p: Painter, scene: Scene, row: Row, y: number): void {
  const { theme, width } = scene;
  switch (row.type) {
    case "run":
      p.rect(0, y, width, row.height, theme.accentWash);
      break;
    case "node":
      p.rect(0, y, width, row.height, theme.band);
      p.line(0, y + 0.5, width, y + 0.5, theme.line);
      break;
    case "lane":
      drawUse(p, scene, row, y);
      break;
    case "track":
      drawTrack(p, scene, row.rank, row.track, y + 2, row.height - 4);
      break;
    case "memory":
      drawMemory(p, scene, row.memory, row.lane.hue, y, row.height);
      break;
    case "phases":
      drawPhases(p, scene, row, y);
      break;
    case "empty":
      break;
  }
}

function drawPhases(p: Painter, scene: Scene, row: Row & { type: "phases" }, y: number): void {
  const { ranges } = row.rank.tables;
  const { theme } = scene;
  for (let r = 0; r < ranges.rows; r++) {
    const [x0, x1] = [xOf(scene, ranges.started[r]!), xOf(scene, ranges.started[r]! + ranges.ran[r]!)];
    if (x1 < GUTTER || x0 > scene.width) continue;
    const top = y + 3 + Math.min(3, ranges.depth[r]!) * PHASE_HEIGHT;
    const left = Math.max(GUTTER, x0);
    p.rect(left, top, Math.max(1, Math.min(scene.width, x1) - left - 1), PHASE_HEIGHT - 2, theme.accentWash);
    p.rect(x0, top, 2, PHASE_HEIGHT - 2, theme.accent);
    const words = fitted(row.rank.string(ranges.name[r]!), x1 - left - 12, FONTS.small);
    if (words) p.text(words, left + 7, top + PHASE_HEIGHT / 2 - 0.5, theme.accent, FONTS.small);
  }
}

function drawLabel(p: Painter, scene: Scene, row: Row, y: number): void {
  const { theme } = scene;
  const middle = y + row.height / 2;
  const right = GUTTER - 14;
  switch (row.type) {
    case "run":
      p.rect(0, y, GUTTER, row.height, theme.accentWash);
      p.text(row.run.letter, 16, middle, theme.accent, FONTS.strong);
      p.text(fitted(row.label, GUTTER + 260, FONTS.strong), 34, middle, theme.ink, FONTS.strong);
      p.text(time(row.run.end), scene.width - 16, middle, theme.accent, FONTS.strong, "right");
      break;
    case "node":
      p.rect(0, y + 1, GUTTER, row.height - 1, theme.band);
      chevron(p, 12, middle, row.folded, theme.soft);
      p.text(fitted(row.label, GUTTER - 40, FONTS.strong), 26, middle, theme.ink, FONTS.strong);
      break;
    case "lane": {
      p.rect(0, y + 1, GUTTER - 1, row.height - 1, theme.surface);
      if (!row.leaf) chevron(p, 12, middle, row.folded, theme.faint);
      const share = percent(meanUse(scene, row.ranks, row.lane.id));
      p.text(fitted(row.label, right - 40 - p.width(share, FONTS.small), FONTS.strong), 26, middle, theme.ink, FONTS.strong);
      if (!row.leaf || row.ranks.length > 1) p.text(share, right, middle, theme.soft, FONTS.small, "right");
      break;
    }
    case "track":
      p.rect(0, y, GUTTER - 1, row.height, theme.surface);
      p.text(fitted(row.label, GUTTER - 50, FONTS.small), 26, middle, theme.soft, FONTS.small);
      break;
    case "memory": {
      p.rect(0, y, GUTTER - 1, row.height, theme.surface);
      p.text(fitted(row.label, GUTTER - 50, FONTS.small), 26, middle - 8, theme.soft, FONTS.small);
      const room = row.memory.capacity ? `${bytes(row.memory.peak)} of ${bytes(row.memory.capacity)}` : `${bytes(row.memory.peak)}`;
      p.text(room, 26, middle + 8, theme.faint, FONTS.small);
      break;
    }
    case "phases":
      p.rect(0, y, GUTTER - 1, row.height, theme.surface);
      p.text(row.label, 26, middle, theme.soft, FONTS.small);
      break;
    case "empty":
      p.rect(0, y, GUTTER - 1, row.height, theme.surface);
      chevron(p, 12, middle, row.folded, theme.faint);
      p.text(row.label, 26, middle, theme.faint, FONTS.small);
      p.text(emptyNames(scene, row), GUTTER + 12, middle, theme.faint, FONTS.small);
      break;
  }
}

function emptyNames(scene: Scene, row: Row & { type: "empty" }): string {
  const empty = scene.session.emptyLanes(row.rank);
  return LANES.filter(({ id }) => empty.includes(id)).map(({ name }) => name).join(" · ");
}

function chevron(p: Painter, x: number, y: number, folded: boolean, stroke: string): void {
  if (folded) p.path([x - 1, y - 4, x + 3, y, x - 1, y + 4], stroke, 1.5);
  else p.path([x - 3, y - 2, x + 1, y + 2, x + 5, y - 2], stroke, 1.5);
}

/** The legend of shades, for the exported picture's foot and the help. */
export const SHADES = [
  [RUNNING, "running"],
  [READY, "ready, waits for its turn"],
  [BLOCKED, "blocked, waits for others"],
] as const;
