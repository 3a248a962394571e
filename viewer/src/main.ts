// The page's start: find profiles, read them, show them.

import { App, chosenTheme } from "./app";
import { byId } from "./dom";
import type { ReadFile } from "./format";
import { listen } from "./input";
import { dropped, embedded, isServed, readAll, served, type Source } from "./load";
import { buildPanels } from "./panels";
import { stepToMatch } from "./panel_search";
import { Session } from "./session";
import { buildTools } from "./tools";

declare global {
  interface Window {
    /** For tests and for the curious: the page's state. */
    numloom?: App;
  }
}

const PHONE = 760;
let loaded: ReadFile[] = [];

async function load(sources: Source[]): Promise<void> {
  const [message, hint, progress] = [byId("message"), byId("hint"), byId("progress")];
  byId("start").hidden = false;
  progress.hidden = false;
  message.classList.remove("bad");
  try {
    const files = await readAll(sources, (share, name) => {
      message.textContent = `Reading ${name}`;
      hint.textContent = "";
      (progress.firstElementChild as HTMLElement).style.width = `${share * 100}%`;
    });
    loaded = [...loaded, ...files];
    show(new Session(loaded));
  } catch (error) {
    message.textContent = error instanceof Error ? error.message : String(error);
    message.classList.add("bad");
    hint.textContent = loaded.length ? "Click to go back to what was read before." : "Drop another file to go on.";
    progress.hidden = true;
    if (loaded.length) byId("start").addEventListener("click", () => (byId("start").hidden = true), { once: true });
  }
}

function show(session: Session): void {
  byId("start").hidden = true;
  byId("bar").hidden = false;
  byId("main").hidden = false;
  document.body.classList.add("open");
  // Listeners of an earlier session hang on these elements; fresh copies have none.
  for (const id of ["overlay", "scrollbar"]) byId(id).replaceWith(byId(id).cloneNode(true));
  const before = window.numloom;
  before?.closing.abort();
  const app = new App(session);
  window.numloom = app;
  const title = session.runs.map((run) => run.title).join("  ·  ");
  byId("title").textContent = session.runs.length > 1 ? `${session.runs.length} runs` : title;
  document.title = `${title} · Numloom profile`;
  const asked = [...new URLSearchParams(location.hash.slice(1)).keys()].some((key) => key !== "served");
  if (before && session.runs.length === 2) app.view.panel = "lines";
  if (!asked && window.innerWidth > PHONE) {
    app.view.panel = session.runs.length > 1 ? "lines" : session.ranks.some((rank) => rank.tables.findings.rows) ? "findings" : "run";
  }
  buildTools(app, () => byId("files").click());
  listen(app, (by) => stepToMatch(app, by));
  buildPanels(app);
  app.start();
}

function acceptFiles(): void {
  const input = byId("files") as HTMLInputElement;
  input.onchange = () => {
    if (input.files?.length) void load(dropped(input.files));
    // So that the same file can be chosen again.
    input.value = "";
  };
  const start = byId("start");
  window.addEventListener("dragover", (event) => {
    event.preventDefault();
    start.classList.add("over");
  });
  window.addEventListener("dragleave", () => start.classList.remove("over"));
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    start.classList.remove("over");
    const files = event.dataTransfer?.files;
    if (files?.length) void load(dropped(files));
  });
}

async function begin(): Promise<void> {
  document.documentElement.dataset["theme"] = chosenTheme();
  acceptFiles();
  const inside = embedded();
  if (inside.length) return load(inside);
  if (!isServed()) return;
  try {
    await load(await served());
  } catch (error) {
    byId("message").textContent = error instanceof Error ? error.message : String(error);
    byId("message").classList.add("bad");
  }
}

void begin();
