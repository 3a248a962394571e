// The page once runs are loaded: what is shown, and drawing it when something changed.

import { Palette, THEMES, type Theme, type ThemeName } from "./colour";
import { byId } from "./dom";
import { drawScene } from "./draw";
import { hitAt } from "./hit";
import { BOXES, PYTHON } from "./kinds";
import type { MemoryTrack } from "./memory";
import { drawOverlay, type Pointer } from "./overlay";
import { CanvasPainter } from "./painter";
import { findMatches, type Matches } from "./query";
import type { Rank } from "./rank";
import { heightOf, layout, type Row } from "./rows";
import { GUTTER, TOP, xOf, type Scene } from "./scene";
import type { BoxAt, Session } from "./session";
import { showTip } from "./tip";
import { View } from "./view";

const THEME_KEY = "numloom-theme";

/** A place in a memory's lane that was clicked. */
export interface MemoryMoment {
  memory: MemoryTrack;
  time: number;
}

export class App implements Scene {
  readonly view: View;
  rows: Row[] = [];
  theme: Theme;
  palette: Palette;
  matches: Map<Rank, Matches> | null = null;
  width = 0;
  height = 0;
  pointer: Pointer | null = null;
  showPath = true;
  /** Frames drawn and the time they took, for the benchmark. */
  readonly drawn = { frames: 0, time: 0 };
  private readonly picture = byId("picture") as HTMLCanvasElement;
  private readonly overlay = byId("overlay") as HTMLCanvasElement;
  private frame = 0;
  private stale = true;
  private rowsFor = "";
  private queryFor = "";
  private readonly listeners: (() => void)[] = [];
  /** Ends what listens for this session when another takes its place. */
  readonly closing = new AbortController();

  constructor(readonly session: Session) {
    this.view = new View(session.end);
    this.theme = THEMES[chosenTheme()];
    this.palette = this.newPalette();
    this.view.restore(location.hash.slice(1));
    this.view.watch(() => this.changed());
    new ResizeObserver(() => this.resize()).observe(byId("stage"));
    const { signal } = this.closing;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.useTheme(chosenTheme()), { signal });
    window.addEventListener("hashchange", () => {
      this.view.restore(location.hash.slice(1));
      this.view.changed();
    }, { signal });
  }

  /** Called after every change that panels may care about. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  start(): void {
    this.useTheme(this.theme.name);
    this.resize();
    this.view.changed();
    this.view.settle();
  }

  get selected(): BoxAt | null {
    const found = /^b(\d+)\.(\d+)$/.exec(this.view.selected);
    const rank = found && this.session.ranks[Number(found[1])];
    return rank && Number(found[2]) < rank.boxes.start.length ? { rank, box: Number(found[2]) } : null;
  }

  get selectedMoment(): MemoryMoment | null {
    const found = /^m(\d+)\.(\d+)\.(\d+)$/.exec(this.view.selected);
    const memory = found && this.session.ranks[Number(found[1])]?.memories.find(({ id }) => id === Number(found[2]));
    return memory ? { memory, time: Number(found[3]) } : null;
  }

  /** Selects a box; with `reveal` the view moves so that it can be seen. */
  select(at: BoxAt | null, reveal = false): void {
    this.view.selected = at ? `b${at.rank.index}.${at.box}` : "";
    if (at) this.view.panel = "box";
    if (at && reveal) this.reveal(at);
    this.view.changed();
  }

  selectMoment(moment: MemoryMoment): void {
    this.view.selected = `m${moment.memory.rank.index}.${moment.memory.id}.${Math.round(moment.time)}`;
    this.view.panel = "box";
    this.view.changed();
  }

  private reveal({ rank, box }: BoxAt): void {
    const [start, stop] = [rank.boxes.start[box]!, rank.boxes.stop[box]!];
    const pixels = ((stop - start) / this.view.span) * (this.width - GUTTER);
    const inside = start >= this.view.from && stop <= this.view.to;
    if (pixels < 4) this.view.show((start + stop) / 2 - (stop - start) * 30, (start + stop) / 2 + (stop - start) * 30);
    else if (!inside) {
      const span = Math.max(this.view.span, (stop - start) * 1.2);
      this.view.show((start + stop) / 2 - span / 2, (start + stop) / 2 + span / 2);
    }
    const row = this.rows.find((r) => r.type === "track" && r.rank === rank && box >= r.track.first && box < r.track.last);
    if (row) this.bringIntoView(row);
  }

  bringIntoView(row: Row): void {
    const room = this.height - TOP;
    if (row.y < this.view.scroll || row.y + row.height > this.view.scroll + room) this.scrollTo(row.y - room / 2);
  }

  scrollTo(y: number): void {
    this.view.scroll = Math.min(Math.max(0, y), Math.max(0, heightOf(this.rows) - (this.height - TOP)));
  }

  ask(query: string, panel = this.view.panel): void {
    this.view.query = query;
    this.view.panel = panel;
    this.view.changed();
  }

  open(panel: string): void {
    this.view.panel = this.view.panel === panel ? "" : panel;
    this.view.changed();
  }

  useTheme(name: ThemeName): void {
    this.theme = THEMES[name];
    document.documentElement.dataset["theme"] = name;
    this.palette = this.newPalette();
    this.changed();
  }

  private newPalette(): Palette {
    const { nameOrder, names } = this.session;
    return new Palette(this.theme, nameOrder, names.texts.length, names.texts.indexOf(BOXES[PYTHON]!.name));
  }

  switchTheme(): void {
    const next = this.theme.name === "light" ? "dark" : "light";
    remember(next === systemTheme() ? null : next);
    this.useTheme(next);
  }

  private changed(): void {
    const folds = [...this.view.flipped].join();
    if (folds !== this.rowsFor || this.rows.length === 0) {
      this.rows = layout(this.session, this.view.flipped);
      this.rowsFor = folds;
    }
    if (this.view.query !== this.queryFor) {
      this.matches = findMatches(this.session, this.view.query);
      this.queryFor = this.view.query;
    }
    this.scrollTo(this.view.scroll);
    this.redraw();
    for (const listener of this.listeners) listener();
  }

  redraw(): void {
    this.stale = true;
    this.redrawOverlay();
  }

  redrawOverlay(): void {
    this.frame ||= requestAnimationFrame(() => this.paint());
  }

  private paint(): void {
    this.frame = 0;
    if (this.width === 0) return;
    const begun = performance.now();
    if (this.stale) {
      drawScene(new CanvasPainter(prepared(this.picture, this.width, this.height)), this);
      this.stale = false;
      this.drawn.frames++;
    }
    if (this.pointer) this.pointer.hit = hitAt(this, this.pointer.x, this.pointer.y);
    drawOverlay(new CanvasPainter(prepared(this.overlay, this.width, this.height)), this, this.pointer, this.selected, this.showPath);
    this.drawn.time += performance.now() - begun;
    showTip(this);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = byId("stage");
    if (clientWidth === this.width && clientHeight === this.height) return;
    [this.width, this.height] = [clientWidth, clientHeight];
    this.changed();
  }

  /** Where a box is on the page; for the tests, and for links that point at it. */
  positionOf({ rank, box }: BoxAt): { x: number; y: number } | null {
    const row = this.rows.find((r) => r.type === "track" && r.rank === rank && box >= r.track.first && box < r.track.last);
    if (!row) return null;
    const middle = (rank.boxes.start[box]! + rank.boxes.stop[box]!) / 2;
    return { x: xOf(this, middle), y: TOP + row.y - this.view.scroll + row.height / 2 };
  }
}

/** The canvas's context, cleared, in CSS pixels at the screen's resolution. */
function prepared(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const dense = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * dense), Math.round(height * dense)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext("2d")!;
  context.setTransform(dense, 0, 0, dense, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

const systemTheme = (): ThemeName => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

export function chosenTheme(): ThemeName {
  try {
    const kept = localStorage.getItem(THEME_KEY);
    if (kept === "light" || kept === "dark") return kept;
  } catch {
    // Pages opened from a file may have no storage; the system's theme then holds.
  }
  return systemTheme();
}

function remember(theme: ThemeName | null): void {
  try {
    if (theme) localStorage.setItem(THEME_KEY, theme);
    else localStorage.removeItem(THEME_KEY);
  } catch {
    // As above: the choice then lasts as long as the page.
  }
}
