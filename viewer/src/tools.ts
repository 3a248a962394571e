// The buttons at the top.

import type { App } from "./app";
import { byId, el } from "./dom";
import { pngOf, save, svgOf } from "./export";
import { toggleHelp } from "./help";
import { stepToMatch } from "./panel_search";
import { count } from "./words";

const ICONS: Record<string, string> = {
  undo: "M8 5 4 9l4 4M4 9h8a4 4 0 0 1 0 8h-2",
  redo: "m12 5 4 4-4 4M16 9H8a4 4 0 0 0 0 8h2",
  fit: "M3 7V4h4M17 7V4h-4M3 13v3h4M17 13v3h-4M7 10h6",
  panel: "M3 4h14v12H3zM12 4v12",
  add: "M10 4v12M4 10h12",
  export: "M10 3v9M6.5 8.5 10 12l3.5-3.5M4 16h12",
  theme: "M16 11.5A6.5 6.5 0 1 1 8.5 4 5.2 5.2 0 0 0 16 11.5Z",
  help: "M7.5 7.5a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.9-1.1 1.8M10 14.6v.1",
};

interface Tool {
  id: string;
  title: string;
  act: (app: App) => void;
  enabled?: (app: App) => boolean;
}

function toolTable(addFiles: () => void): (Tool | null)[] {
  return [
    { id: "undo", title: "Undo (U)", act: (app) => void app.view.undo(), enabled: (app) => app.view.canUndo },
    { id: "redo", title: "Redo (R)", act: (app) => void app.view.redo(), enabled: (app) => app.view.canRedo },
    { id: "fit", title: "Whole run (0)", act: (app) => app.view.fit() },
    null,
    { id: "add", title: "Add profiles, to compare", act: addFiles },
    { id: "export", title: "Export the view (E)", act: exportMenu },
    { id: "panel", title: "Panel", act: (app) => app.open(app.view.panel || "run") },
    { id: "theme", title: "Light or dark (T)", act: (app) => app.switchTheme() },
    { id: "help", title: "Keys (?)", act: toggleHelp },
  ];
}

export function buildTools(app: App, addFiles: () => void): void {
  const nav = byId("tools");
  const updates: (() => void)[] = [];
  nav.replaceChildren();
  for (const tool of toolTable(addFiles)) {
    if (!tool) {
      nav.append(el("hr"));
      continue;
    }
    const button = el("button", { id: `tool-${tool.id}`, title: tool.title, "aria-label": tool.title, click: () => tool.act(app) }) as HTMLButtonElement;
    button.innerHTML = `<svg viewBox="0 0 20 20"><path d="${ICONS[tool.id]}"/></svg>`;
    nav.append(button);
    if (tool.enabled) updates.push(() => (button.disabled = !tool.enabled!(app)));
  }
  const query = byId("query") as HTMLInputElement;
  let timer = 0;
  query.oninput = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => app.ask(query.value, query.value ? "search" : app.view.panel), app.session.boxCount > 1e6 ? 350 : 120);
  };
  query.onkeydown = (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(timer);
    if (app.view.query !== query.value) app.ask(query.value, "search");
    stepToMatch(app, event.shiftKey ? -1 : 1);
  };
  const update = (): void => {
    for (const one of updates) one();
    if (document.activeElement !== query) query.value = app.view.query;
    const found = app.matches ? [...app.matches.values()].reduce((sum, { ids }) => sum + ids.length, 0) : -1;
    byId("found").textContent = found < 0 ? "" : `${count(found)} found`;
  };
  app.onChange(update);
  app.view.watch(() => setTimeout(update, 500));
}

function exportMenu(app: App): void {
  document.querySelector(".menu")?.remove();
  const name = (app.session.runs[0]!.ranks[0]!.meta.get("name") || "profile").replace(/[^\w-]+/g, "-");
  const close = (): void => menu.remove();
  const item = (words: string, act: () => void | Promise<void>): HTMLElement => el("button", { click: () => (close(), act()) }, words);
  const menu = el("div", { class: "menu" },
    item("Picture as PNG", async () => save(await pngOf(app), `${name}.png`)),
    item("Picture as SVG", () => save(svgOf(app), `${name}.svg`)),
    item("Copy the address of this view", () => (app.view.settle(), navigator.clipboard?.writeText(location.href))));
  const place = byId("tool-export").getBoundingClientRect();
  menu.style.right = `${window.innerWidth - place.right}px`;
  menu.style.top = `${place.bottom + 6}px`;
  document.body.append(menu);
  setTimeout(() => window.addEventListener("pointerdown", (event) => {
    if (!menu.contains(event.target as Node)) close();
  }, { once: true }));
}
