// The run as a whole: what ran, how busy each lane was, which operations took the time.

import type { App } from "./app";
import { RUNNING } from "./colour";
import { el } from "./dom";
import { SHADES } from "./draw";
import { useOf } from "./draw_charts";
import { LANES } from "./kinds";
import { relationsOf } from "./relations";
import type { Run, Session } from "./session";
import { bytes, change, count, percent, time } from "./words";

interface NameCost {
  name: number;
  time: number[];
  boxes: number[];
}

const LISTED = 24;

/** From this many boxes on, counting them waits until the page is drawn. */
const LARGE = 1e6;

export function runPanel(app: App, again: () => void): HTMLElement[] {
  const { session } = app;
  const later = session.boxCount > LARGE && !known.has(session);
  if (later) setTimeout(() => (nameCosts(session), again()), 50);
  const parts = session.runs.flatMap((run) => headOf(app, run));
  parts.push(el("h3", {}, "Lanes"), lanesTable(session));
  parts.push(el("h3", {}, "Operations and other work"), later ? el("p", { class: "soft" }, "Counting …") : namesTable(app), el("h3", {}, "Shades"), shades(app));
  const counters = counted(session);
  if (counters.length) parts.push(el("h3", {}, "What the runtime counted"), el("table", {}, el("tbody", {}, ...counters)));
  for (const rank of session.ranks) for (const note of rank.file.notes) parts.push(el("p", { class: "bad" }, `${rank.file.name}: ${note}`));
  return parts;
}

function headOf(app: App, run: Run): HTMLElement[] {
  const first = run.ranks[0]!;
  const several = app.session.runs.length > 1;
  const facts: [string, string][] = [
    ["took", time(run.end)],
    ["command", first.meta.get("command") ?? ""],
    ["nodes", run.ranks.length > 1 ? String(run.ranks.length) : ""],
    ["events", count(run.ranks.reduce((sum, rank) => sum + rank.boxes.start.length + rank.tables.tasks.rows, 0))],
    ["tasks", count(run.ranks.reduce((sum, rank) => sum + rank.tables.tasks.rows, 0))],
    ["version", first.meta.get("version") ?? ""],
    ["complete", run.ranks.every((rank) => rank.file.complete) ? "" : "no: the file ends before the run did"],
  ];
  return [
    el("h2", { style: several && run.index ? "margin-top:20px" : "" }, `${several ? `${run.letter} · ` : ""}${run.title}`),
    el("dl", { class: "facts" }, ...facts.filter(([, value]) => value).flatMap(([key, value]) => [el("dt", {}, key), el("dd", {}, value)])),
    ...run.ranks.filter((rank) => rank.tables.tasks.rows).slice(0, 1).map((rank) =>
      el("p", {}, el("a", {
        click: () => {
          const task = relationsOf(rank).lastTask();
          const box = relationsOf(rank).boxes(task)[0];
          if (box !== undefined) app.select({ rank, box }, true);
        },
      }, "Walk the critical path from its end"))),
  ];
}

function lanesTable(session: Session): HTMLElement {
  const shown = LANES.filter(({ id }) => session.ranks.some((rank) => !session.emptyLanes(rank).includes(id)));
  const several = session.runs.length > 1;
  const rows = shown.map((lane) => el("tr", {}, el("td", { title: lane.about }, lane.name), ...session.runs.map((run) => {
    const memories = run.ranks.flatMap((rank) => rank.memories.filter((memory) => memory.lane === lane.id && !memory.empty));
    if (memories.length) return el("td", {}, `peak ${bytes(memories.reduce((sum, memory) => sum + memory.peak, 0))}`);
    return el("td", {}, percent(useOf(session, run.ranks, lane.id, 0, run.end)));
  })));
  const head = several ? [el("thead", {}, el("tr", {}, el("th", {}), ...session.runs.map((run) => el("th", {}, run.letter))))] : [];
  return el("table", {}, ...head, el("tbody", {}, ...rows));
}

const known = new WeakMap<Session, NameCost[]>();

function nameCosts(session: Session): NameCost[] {
  let made = known.get(session);
  if (made) return made;
  const times = session.runs.map(() => new Float64Array(session.names.texts.length));
  const boxes = session.runs.map(() => new Float64Array(session.names.texts.length));
  for (const [i, run] of session.runs.entries()) {
    for (const rank of run.ranks) {
      const { start, stop } = rank.boxes;
      for (let box = 0; box < start.length; box++) {
        const name = rank.nameOf(box);
        times[i]![name]! += stop[box]! - start[box]!;
        boxes[i]![name]! += 1;
      }
    }
  }
  made = session.nameOrder.map((name) => ({ name, time: times.map((t) => t[name]!), boxes: boxes.map((b) => b[name]!) }));
  made.sort((a, b) => Math.max(...b.time) - Math.max(...a.time));
  known.set(session, made);
  return made;
}

function namesTable(app: App): HTMLElement {
  const { session } = app;
  const costs = nameCosts(session);
  const two = session.runs.length === 2;
  const head = el("tr", {}, el("th", {}), ...(two ? [el("th", {}, "A"), el("th", {}, "B"), el("th", {}, "change")] : [el("th", {}, "boxes"), el("th", {}, "time")]));
  const rows = costs.slice(0, LISTED).map(({ name, time: spent, boxes }) => {
    const words = session.names.texts[name]!;
    const cells = two
      ? [el("td", {}, time(spent[0]!)), el("td", {}, time(spent[1]!)), el("td", { class: tone(spent[0]!, spent[1]!) }, change(spent[0]!, spent[1]!))]
      : [el("td", { class: "soft" }, count(boxes[0]!)), el("td", {}, time(spent[0]!))];
    return el("tr", {}, el("td", {}, el("i", { class: "swatch", style: `background:${app.palette.of(name, RUNNING)}` }), el("a", { click: () => app.ask(`name:"${words}"`) }, words)), ...cells);
  });
  return el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows));
}

/** The last value of every counter, a column a run. */
function counted(session: Session): HTMLElement[] {
  const values = new Map<string, number[]>();
  for (const [i, run] of session.runs.entries()) {
    for (const rank of run.ranks) {
      const { counters } = rank.tables;
      const last = new Map<string, number>();
      for (let row = 0; row < counters.rows; row++) last.set(rank.string(counters.name[row]!), counters.value[row]!);
      for (const [name, value] of last) {
        const sums = values.get(name) ?? session.runs.map(() => 0);
        sums[i]! += value;
        values.set(name, sums);
      }
    }
  }
  return [...values].filter(([, sums]) => sums.some((sum) => sum > 0)).map(([name, sums]) =>
    el("tr", {}, el("td", {}, name.replaceAll("_", " ")), ...sums.map((sum) => el("td", {}, /bytes|peak/.test(name) ? bytes(sum) : count(sum)))));
}

/** Whether a change deserves a colour: 5 % and more. */
export function tone(before: number, after: number): string {
  if (after > before * 1.05) return "worse";
  return after < before * 0.95 ? "better" : "soft";
}

function shades(app: App): HTMLElement {
  const name = app.session.nameOrder[0] ?? 0;
  const items = SHADES.map(([shade, words]) => el("span", {}, el("i", { class: "swatch", style: `background:${app.palette.of(name, shade)}` }), words));
  return el("div", { class: "legend" }, ...items, el("span", {}, el("i", { class: "swatch", style: `background:${app.theme.merged}` }), "too small to show: merged"));
}
