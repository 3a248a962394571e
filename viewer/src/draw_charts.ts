// Curves: how busy a lane was, how full a memory, and the small picture of the whole run.

import { oklch } from "./colour";
import type { MemoryTrack } from "./memory";
import { FONTS, type Painter } from "./painter";
import type { Rank } from "./rank";
import type { Row } from "./rows";
import { GUTTER, OVERVIEW, scaleOf, timeAt, xOf, type Scene } from "./scene";
import type { Run, Session } from "./session";
import { bytes } from "./words";

const STEP = 2;

/** Share of the lane in use between two moments: busy time of its tracks, or how full its memories were. */
export function useOf(session: Session, ranks: Rank[], lane: string, from: number, to: number): number {
  const memories = ranks.flatMap((rank) => rank.memories.filter((memory) => memory.lane === lane && !memory.empty));
  if (memories.length) {
    let [level, room] = [0, 0];
    for (const memory of memories) {
      level += memory.highestIn(from, to);
      room += memory.capacity || memory.peak;
    }
    return room ? level / room : 0;
  }
  let [busy, tracks] = [0, 0];
  for (const rank of ranks) {
    const pyramid = session.pyramid(rank, lane);
    busy += pyramid.busy(from, to);
    tracks += pyramid.tracks.length;
  }
  const end = Math.min(to, session.end);
  return tracks ? busy / (tracks * Math.max(1, end - Math.max(0, from))) : 0;
}

/** Mean over the visible part of the run; of memories too, so that a short peak does not stand for all of it. */
export function meanUse(scene: Scene, ranks: Rank[], lane: string): number {
  const { session, view } = scene;
  const end = Math.max(...ranks.map((rank) => session.runOf(rank).end));
  const [from, to] = [Math.max(0, view.from), Math.min(end, view.to)];
  if (to <= from) return 0;
  if (!ranks.some((rank) => rank.memories.some((memory) => memory.lane === lane && !memory.empty))) {
    return useOf(session, ranks, lane, from, to);
  }
  const parts = 64;
  let sum = 0;
  for (let i = 0; i < parts; i++) {
    const at = from + ((i + 0.5) / parts) * (to - from);
    sum += useOf(session, ranks, lane, at, at);
  }
  return sum / parts;
}

export function drawUse(p: Painter, scene: Scene, row: Row & { type: "lane" }, y: number): void {
  const { session, palette, theme, view } = scene;
  const [top, base] = [y + 5, y + row.height - 3];
  const points: number[] = [];
  const perPixel = 1 / scaleOf(scene);
  const right = Math.min(scene.width, xOf(scene, row.run.end));
  for (let x = Math.max(GUTTER, xOf(scene, 0)); x <= right; x += STEP) {
    const from = view.from + (x - GUTTER) * perPixel;
    const share = Math.min(1, useOf(session, row.ranks, row.lane.id, from, from + STEP * perPixel));
    points.push(x, base - share * (base - top));
  }
  p.line(GUTTER, base + 0.5, scene.width, base + 0.5, theme.line);
  p.area(points, base, palette.area(row.lane.hue), theme.name === "light" ? 0.45 : 0.5);
  p.path(points, oklch(theme.name === "light" ? 0.56 : 0.74, 0.11, row.lane.hue), 1.25);
}

export function drawMemory(p: Painter, scene: Scene, memory: MemoryTrack, hue: number, y: number, height: number): void {
  const { theme, palette } = scene;
  const [top, base] = [y + 16, y + height - 5];
  const full = Math.max(memory.peak, 1);
  const points: number[] = [];
  for (let x = Math.max(GUTTER, xOf(scene, 0)); x <= Math.min(scene.width, xOf(scene, memory.rank.end)); x += STEP) {
    const from = timeAt(scene, x);
    points.push(x, base - (memory.highestIn(from, timeAt(scene, x + STEP)) / full) * (base - top));
  }
  p.area(points, base, palette.area(hue), theme.name === "light" ? 0.4 : 0.42);
  p.path(points, oklch(theme.name === "light" ? 0.56 : 0.74, 0.11, hue), 1.25);
  p.line(GUTTER, top + 0.5, scene.width, top + 0.5, theme.mark, 1, [4, 4]);
  const label = `high-water mark ${bytes(memory.peak)}`;
  p.text(label, scene.width - 14, top - 8, theme.mark, FONTS.small, "right");
  p.line(GUTTER, base + 0.5, scene.width, base + 0.5, theme.line);
}

const known = new WeakMap<Run, { room: number; shares: number[] }>();

/** The busiest kind of processor at each place of the strip; it changes only with the strip's width. */
function wholeRun(session: Session, run: Run, room: number): number[] {
  const kept = known.get(run);
  if (kept?.room === room) return kept.shares;
  const lanes = ["gpu", "omp", "cpu"].filter((id) => run.ranks.some((rank) => session.tracksOf(rank, id).length));
  const shares: number[] = [];
  for (let x = 0; x <= (run.end / session.end) * room; x += STEP) {
    const [from, to] = [(x / room) * session.end, ((x + STEP) / room) * session.end];
    shares.push(Math.min(1, Math.max(0, ...lanes.map((id) => useOf(session, run.ranks, id, from, to)))));
  }
  known.set(run, { room, shares });
  return shares;
}

/** The whole run in a strip, with the window one looks through. */
export function drawOverview(p: Painter, scene: Scene): void {
  const { session, theme, palette, view, width } = scene;
  const [top, base] = [8, OVERVIEW - 7];
  const room = width - GUTTER - 12;
  p.rect(0, 0, width, OVERVIEW, theme.surface);
  p.text("Whole run", 16, OVERVIEW / 2 + 1, theme.soft, FONTS.label);
  p.rect(GUTTER, top, room, base - top, theme.band);
  for (const [i, run] of session.runs.entries()) {
    const points = wholeRun(session, run, room).flatMap((share, k) => [GUTTER + k * STEP, base - share * (base - top - 2)]);
    const hue = i === 0 ? 262 : 340;
    p.area(points, base, palette.area(hue), session.runs.length > 1 ? 0.4 : 0.7);
    if (session.runs.length > 1) p.path(points, oklch(theme.name === "light" ? 0.56 : 0.74, 0.11, hue), 1);
  }
  const x0 = GUTTER + (Math.max(0, view.from) / session.end) * room;
  const x1 = GUTTER + (Math.min(session.end, view.to) / session.end) * room;
  const wash = theme.name === "light" ? "#f6f6f4" : "#121417";
  p.rect(GUTTER, top, x0 - GUTTER, base - top, wash, 0.75);
  p.rect(x1, top, GUTTER + room - x1, base - top, wash, 0.75);
  p.rect(x0 - 1, top - 1, Math.max(3, x1 - x0 + 2), 1.5, theme.accent);
  p.rect(x0 - 1, base, Math.max(3, x1 - x0 + 2), 1.5, theme.accent);
  p.rect(x0 - 1, top - 1, 1.5, base - top + 2, theme.accent);
  p.rect(x1, top - 1, 1.5, base - top + 2, theme.accent);
}
