// Wheel, drag and keys.

import type { App } from "./app";
import { byId } from "./dom";
import { hitAt } from "./hit";
import { GUTTER, OVERVIEW, TOP, timeAt } from "./scene";
import { heightOf } from "./rows";

const CLICK = 4;

type Drag =
  | { type: "pan"; x: number; y: number; from: number; scroll: number; moved: boolean }
  | { type: "range"; x: number }
  | { type: "overview" };

export function listen(app: App, step: (by: number) => void): void {
  const overlay = byId("overlay");
  const { view } = app;
  let drag: Drag | null = null;

  overlay.addEventListener("wheel", (event) => {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (event.offsetX < GUTTER) app.scrollTo(view.scroll + dy);
    else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) view.pan(((dx || dy) * view.span) / (app.width - GUTTER));
    else if (event.altKey) app.scrollTo(view.scroll + dy);
    else view.zoom(Math.exp(Math.max(-120, Math.min(120, dy)) * 0.0022), timeAt(app, event.offsetX));
    view.changed();
  }, { passive: false });

  overlay.addEventListener("pointerdown", (event) => {
    byId("stage").focus({ preventScroll: true });
    if (event.button !== 0) return;
    overlay.setPointerCapture(event.pointerId);
    const [x, y] = [event.offsetX, event.offsetY];
    if (y < OVERVIEW && x >= GUTTER) {
      drag = { type: "overview" };
      centre(app, x);
    } else if (x >= GUTTER && (y < TOP || event.shiftKey)) drag = { type: "range", x };
    else drag = { type: "pan", x, y, from: view.from, scroll: view.scroll, moved: false };
  });

  overlay.addEventListener("pointermove", (event) => {
    const [x, y] = [event.offsetX, event.offsetY];
    app.pointer = { x, y, hit: null, dragFrom: drag?.type === "range" ? drag.x : null };
    if (drag?.type === "overview") centre(app, x);
    if (drag?.type === "pan") {
      drag.moved ||= Math.hypot(x - drag.x, y - drag.y) > CLICK;
      if (drag.moved) {
        app.scrollTo(drag.scroll - (y - drag.y));
        const from = drag.from - ((x - drag.x) * view.span) / (app.width - GUTTER);
        if (drag.x >= GUTTER) view.show(from, from + view.span);
        else view.changed();
      }
    }
    overlay.style.cursor = drag?.type === "pan" && drag.moved ? "grabbing" : y < TOP && x >= GUTTER ? (y < OVERVIEW ? "pointer" : "col-resize") : "default";
    app.redrawOverlay();
  });

  overlay.addEventListener("pointerup", (event) => {
    const ended = drag;
    drag = null;
    if (ended?.type === "range" && Math.abs(event.offsetX - ended.x) > CLICK) {
      const [a, b] = [timeAt(app, ended.x), timeAt(app, event.offsetX)];
      view.show(Math.min(a, b), Math.max(a, b));
      view.settle();
    } else if (ended?.type === "pan" && !ended.moved) click(app, event.offsetX, event.offsetY);
    if (app.pointer) app.pointer.dragFrom = null;
    app.redrawOverlay();
  });

  overlay.addEventListener("pointerleave", () => {
    app.pointer = null;
    app.redrawOverlay();
  });

  overlay.addEventListener("dblclick", (event) => {
    const hit = hitAt(app, event.offsetX, event.offsetY);
    if (!hit?.box) return;
    const { start, stop } = hit.box.rank.boxes;
    const room = (stop[hit.box.box]! - start[hit.box.box]!) * 0.6;
    view.show(start[hit.box.box]! - room, stop[hit.box.box]! + room);
  });

  scrollbar(app);
  window.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement;
    if (typing && event.key === "Escape") (event.target as HTMLInputElement).blur();
    if (typing || event.altKey) return;
    const name = `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.key.length === 1 ? event.key.toLowerCase() : event.key}`;
    const action = KEYS[event.shiftKey && event.key !== "?" ? `Shift+${name}` : name] ?? (event.ctrlKey || event.metaKey ? undefined : KEYS[name]);
    if (!action) return;
    event.preventDefault();
    action(app, step);
  }, { signal: app.closing.signal });
}

type Action = (app: App, step: (by: number) => void) => void;

const middle = (app: App): number => (app.pointer && app.pointer.x > GUTTER ? timeAt(app, app.pointer.x) : (app.view.from + app.view.to) / 2);
const zoomBy = (factor: number): Action => (app) => app.view.zoom(factor, middle(app));
const panBy = (share: number): Action => (app) => app.view.pan(app.view.span * share);
const scrollBy = (pixels: number): Action => (app) => {
  app.scrollTo(app.view.scroll + pixels);
  app.view.changed();
};
const click_ = (id: string): Action => () => byId(id).click();

export const KEYS: Record<string, Action> = {
  "+": zoomBy(0.6), "=": zoomBy(0.6), "Shift++": zoomBy(0.6), w: zoomBy(0.6), "-": zoomBy(1 / 0.6), s: zoomBy(1 / 0.6),
  ArrowLeft: panBy(-0.15), a: panBy(-0.15), ArrowRight: panBy(0.15), d: panBy(0.15),
  ArrowUp: scrollBy(-60), ArrowDown: scrollBy(60), PageUp: scrollBy(-400), PageDown: scrollBy(400),
  "0": (app) => app.view.fit(), Home: (app) => app.view.fit(),
  u: (app) => void app.view.undo(), "Ctrl+z": (app) => void app.view.undo(), "Ctrl+y": (app) => void app.view.redo(),
  r: (app) => void app.view.redo(), "Shift+Ctrl+z": (app) => void app.view.redo(), "Shift+u": (app) => void app.view.redo(),
  "/": () => byId("query").focus(), "Ctrl+f": () => byId("query").focus(), "Ctrl+Home": (app) => app.view.fit(),
  n: (_, step) => step(1), "Shift+n": (_, step) => step(-1), p: (_, step) => step(-1),
  f: (app) => zoomToSelected(app), l: (app) => app.open("lines"), i: (app) => app.open("findings"), o: (app) => app.open("run"),
  c: (app) => {
    app.showPath = !app.showPath;
    app.redrawOverlay();
  },
  t: (app) => app.switchTheme(), e: click_("tool-export"), "?": click_("tool-help"), Escape: (app) => app.select(null),
};

function zoomToSelected(app: App): void {
  const at = app.selected;
  if (!at) return;
  const [start, stop] = [at.rank.boxes.start[at.box]!, at.rank.boxes.stop[at.box]!];
  app.view.show(start - (stop - start), stop + (stop - start));
}

function click(app: App, x: number, y: number): void {
  const hit = hitAt(app, x, y);
  if (!hit) return;
  const { row, time } = hit;
  if ("folded" in row && (hit.inGutter || row.type === "empty" || row.type === "node")) {
    if (row.type !== "lane" || !row.leaf) app.view.flip(row.key);
  } else if (hit.box) app.select(hit.box);
  else if (hit.block && row.type === "track") {
    const { start, stop } = row.rank.boxes;
    const [from, to] = [start[hit.block.from]!, stop[hit.block.to - 1]!];
    app.view.show(from - (to - from) * 8, to + (to - from) * 8);
  } else if (row.type === "memory") app.selectMoment({ memory: row.memory, time: Math.max(0, time) });
  else if (hit.phase !== undefined && row.type === "phases") {
    const { ranges } = row.rank.tables;
    const [from, ran] = [ranges.started[hit.phase]!, ranges.ran[hit.phase]!];
    app.view.show(from - ran * 0.05, from + ran * 1.05);
  } else app.select(null);
}

function centre(app: App, x: number): void {
  const room = app.width - GUTTER - 12;
  const time = ((x - GUTTER) / room) * app.session.end;
  app.view.show(time - app.view.span / 2, time + app.view.span / 2);
}

function scrollbar(app: App): void {
  const bar = byId("scrollbar");
  const knob = bar.firstElementChild as HTMLElement;
  app.onChange(() => {
    const [room, all] = [app.height - TOP, heightOf(app.rows)];
    bar.hidden = all <= room;
    knob.style.height = `${(100 * room) / all}%`;
    knob.style.top = `${(100 * app.view.scroll) / all}%`;
  });
  bar.addEventListener("pointerdown", (event) => {
    bar.setPointerCapture(event.pointerId);
    const [y, scroll] = [event.clientY, app.view.scroll];
    const move = (to: PointerEvent): void => {
      app.scrollTo(scroll + ((to.clientY - y) * heightOf(app.rows)) / bar.clientHeight);
      app.view.changed();
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", () => bar.removeEventListener("pointermove", move), { once: true });
  });
}
