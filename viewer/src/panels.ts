// The panel at the right: which one is open, and filling it when it has to change.

import type { App } from "./app";
import { byId, el, fill } from "./dom";
import { boxPanel } from "./panel_box";
import { findingsCount, findingsPanel } from "./panel_findings";
import { linesPanel } from "./panel_lines";
import { runPanel } from "./panel_run";
import { searchPanel } from "./panel_search";

interface Panel {
  id: string;
  name: string;
  build: (app: App, again: () => void) => HTMLElement[];
  /** The panel is built anew when this changes. */
  depends: (app: App) => string;
}

const PANELS: Panel[] = [
  { id: "run", name: "Run", build: runPanel, depends: () => "" },
  { id: "lines", name: "Lines", build: linesPanel, depends: (app) => app.view.query },
  { id: "findings", name: "Findings", build: findingsPanel, depends: () => "" },
  { id: "search", name: "Search", build: searchPanel, depends: (app) => `${app.view.query}\n${app.view.only}` },
  { id: "box", name: "Selection", build: boxPanel, depends: (app) => app.view.selected },
];

/** From this many boxes on, findings are looked for when one asks for them. */
const LARGE = 2e6;

export function buildPanels(app: App): void {
  const [panel, tabs, content] = [byId("panel"), byId("tabs"), byId("content")];
  let shown = "";
  const show = (force = false): void => {
    const open = PANELS.find(({ id }) => id === app.view.panel);
    panel.classList.toggle("closed", !open);
    if (!open) return void (shown = "");
    const state = `${open.id}\n${app.theme.name}\n${open.depends(app)}`;
    if (state === shown && !force) return;
    const samePanel = shown.startsWith(`${open.id}\n`);
    shown = state;
    for (const tab of tabs.querySelectorAll("[data-panel]")) tab.setAttribute("aria-selected", String((tab as HTMLElement).dataset["panel"] === open.id));
    const typing = content.contains(document.activeElement);
    const top = samePanel && open.id !== "box" ? content.scrollTop : 0;
    fill(content, ...open.build(app, () => show(true)));
    if (!typing) content.scrollTop = top;
  };
  const count = app.session.boxCount < LARGE || app.session.ranks.every((rank) => rank.file.advised) ? findingsCount(app.session) : 0;
  fill(tabs, ...PANELS.map(({ id, name }) => el("button", { "data-panel": id, role: "tab", click: () => app.view.panel !== id && app.open(id) }, name,
    id === "findings" && count ? el("span", { class: "count" }, String(count)) : "")),
    el("button", { class: "close", title: "Close", "aria-label": "Close the panel", click: () => app.open(app.view.panel) }, "×"));
  app.onChange(() => show());
  dragSplit(panel);
}

function dragSplit(panel: HTMLElement): void {
  const split = byId("split");
  split.onpointerdown = (event) => {
    split.setPointerCapture(event.pointerId);
    split.onpointermove = (to) => {
      panel.style.width = `${Math.min(window.innerWidth * 0.7, Math.max(280, window.innerWidth - to.clientX))}px`;
    };
    split.onpointerup = () => (split.onpointermove = null);
  };
}
