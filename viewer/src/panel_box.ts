// Everything known about a box, or about a memory at a moment.

import type { App, MemoryMoment } from "./app";
import { BLOCKED, READY, RUNNING } from "./colour";
import { el } from "./dom";
import { BOXES, COPY, REASONS, RUNS, SYNC, TRAITS, VARIANTS } from "./kinds";
import { shortName } from "./lines";
import { deathsOf, readingOf } from "./memory";
import { sourceLines, taskOf } from "./query";
import type { Rank } from "./rank";
import { relationsOf, type Cause } from "./relations";
import type { BoxAt } from "./session";
import { byLine } from "./tip";
import { bandwidth, bytes, count, moment, percent, time } from "./words";

const LISTED = 12;

export function boxPanel(app: App): HTMLElement[] {
  const moment = app.selectedMoment;
  if (moment) return momentPanel(app, moment);
  const at = app.selected;
  if (!at)
    return [
      el(
        "p",
        { class: "soft" },
        "Click a box to see everything known about it, or a memory's lane to see which arrays filled it.",
      ),
    ];
  const { rank, box } = at;
  const { boxes } = rank;
  const kind = BOXES[boxes.kind[box]!];
  const name = rank.nameOf(box);
  const task = taskOf(rank, box);
  const row = rank.taskRow(task);
  const parts: HTMLElement[] = [
    el(
      "h2",
      {},
      el("i", { class: "swatch", style: `background:${app.palette.of(name, RUNNING)}` }),
      app.session.names.texts[name]!,
    ),
    el(
      "p",
      { class: "soft" },
      [rank.trackOf(box).label, boxes.kind[box] === RUNS ? "" : kind?.about, time(boxes.stop[box]! - boxes.start[box]!)]
        .filter(Boolean)
        .join(" · "),
    ),
  ];
  if (row >= 0 && boxes.kind[box]! <= 1) parts.push(...lifeOf(app, rank, row, name));
  parts.push(...linesOf(app, rank, box, task), ...factsOf(rank, box, row));
  const relations = relationsOf(rank);
  const previous = relations.previous(box);
  if (previous >= 0)
    parts.push(
      el("h3", {}, "Before it on this processor"),
      walk([boxItem(app, { rank, box: previous }, gapBetween(rank, previous, box))]),
    );
  if (row >= 0 && boxes.kind[box]! > 1)
    parts.push(el("h3", {}, boxes.kind[box] === SYNC ? "It waited for" : "The task"), walk([taskItem(app, rank, task)]));
  else if (row >= 0) parts.push(...waitsOf(app, rank, task));
  if (row >= 0) parts.push(...pathOf(app, rank, task), ...arraysOf(app, rank, task));
  return parts;
}

/** Created, ready, started, stopped: as a bar and in numbers. */
function lifeOf(app: App, rank: Rank, row: number, name: number): HTMLElement[] {
  const { created, blocked, queued, ran } = rank.tables.tasks;
  const stages: [string, number, number][] = [
    ["blocked", blocked[row]!, BLOCKED],
    ["ready", queued[row]!, READY],
    ["running", ran[row]!, RUNNING],
  ];
  const bar = el(
    "div",
    { class: "phases" },
    ...stages
      .filter(([, length]) => length > 0)
      .map(([words, length, shade]) =>
        el("i", { style: `flex:${length};background:${app.palette.of(name, shade)}`, title: `${words} ${time(length)}` }),
      ),
  );
  const ready = created[row]! + blocked[row]!;
  const exact = (t: number): string => moment(t, ran[row]! + queued[row]! + blocked[row]!);
  return [
    bar,
    el(
      "dl",
      { class: "facts" },
      ...fact("created", exact(created[row]!)),
      ...fact("ready", `${exact(ready)}${blocked[row] ? `, blocked for ${time(blocked[row]!)}` : ""}`),
      ...fact("started", `${exact(ready + queued[row]!)}${queued[row] ? `, waited ${time(queued[row]!)} for its turn` : ""}`),
      ...fact("stopped", `${exact(ready + queued[row]! + ran[row]!)}, ran ${time(ran[row]!)}`),
    ),
  ];
}

const fact = (key: string, value: string): HTMLElement[] => [el("dt", {}, key), el("dd", {}, value)];

/** The lines behind a box: of its operations, or its own. */
function linesOf(app: App, rank: Rank, box: number, task: number): HTMLElement[] {
  const { operations } = rank.tables;
  const rows = boxesOperations(rank, box, task);
  const byLine = new Map<number, string[]>();
  for (const row of rows) {
    const shape = rank.string(operations.shape[row]!);
    const traits = TRAITS.filter(([bit]) => operations.traits[row]! & bit).map(([, words]) => words);
    const times = operations.times[row]! > 1 ? ` ×${count(operations.times[row]!)}` : "";
    const words = [rank.string(operations.name[row]!) + times, shape, ...traits].filter(Boolean).join(" · ");
    const line = operations.line[row]!;
    byLine.set(line, [...(byLine.get(line) ?? []), words]);
  }
  if (byLine.size === 0 && rank.lineOf(box)) byLine.set(rank.lineOf(box), []);
  const shown = [...byLine].slice(0, LISTED).map(([line, calls]) => sourceButton(app, rank, line, calls));
  if (byLine.size > LISTED) shown.push(el("p", { class: "soft" }, `and ${byLine.size - LISTED} more lines`));
  return shown.length ? [el("h3", {}, byLine.size > 1 ? "Lines" : "Line"), ...shown] : [];
}

function boxesOperations(rank: Rank, box: number, task: number): Uint32Array {
  return task && rank.boxes.kind[box] !== COPY ? relationsOf(rank).operations(task) : new Uint32Array(0);
}

/** A line of the program with its text; a click marks everything that comes from it. */
export function sourceButton(app: App, rank: Rank, line: number, calls: string[] = []): HTMLElement {
  const place = rank.place(line);
  if (!place)
    return el(
      "p",
      { class: "soft" },
      ...calls.map((call) => el("span", { class: "code" }, call)),
      calls.length ? "" : "line not known",
    );
  const text = sourceLines(rank).get(place.file)?.[place.line - 1]?.trim();
  const where = `${shortName(place.file)}:${place.line}`;
  const unique = [...new Set(calls)];
  return el(
    "button",
    { class: "source", title: "Mark everything from this line", click: () => app.ask(`line:${where}`) },
    el("span", { class: "code" }, text ?? "(source not recorded)"),
    el("span", { class: "where" }, el("span", {}, where), el("span", {}, place.function === "<module>" ? "" : place.function)),
    ...unique.slice(0, LISTED).map((call) => el("span", { class: "code faint" }, call)),
  );
}

const CALLED: Record<string, string> = { bytes: "size", tiles: "tiles here" };

function factsOf(rank: Rank, box: number, row: number): HTMLElement[] {
  const { boxes, tables } = rank;
  const kind = boxes.kind[box]!;
  const facts: HTMLElement[] = [];
  const length = boxes.stop[box]! - boxes.start[box]!;
  if (kind > 1)
    facts.push(...fact("started", moment(boxes.start[box]!, length)), ...fact("stopped", moment(boxes.stop[box]!, length)));
  const counts = BOXES[kind]?.counts;
  if (counts && boxes.count[box])
    facts.push(...fact(CALLED[counts] ?? counts, counts === "bytes" ? bytes(boxes.count[box]!) : count(boxes.count[box]!)));
  if (kind === COPY) {
    const copy = boxes.subject[box]!;
    facts.push(
      ...fact("reason", REASONS[tables.copies.reason[copy]!] ?? "?"),
      ...fact("rate", bandwidth(boxes.count[box]!, length)),
    );
  }
  if (row >= 0) {
    const { tasks } = tables;
    facts.push(...fact("task", `${tasks.id[row]} · ${VARIANTS[tasks.variant[row]!] ?? "?"}`));
    if (kind <= 1) {
      const moved = tasks.read[row]! + tasks.written[row]!;
      facts.push(...fact("operations", count(tasks.operations[row]! || 1)), ...fact("tiles", count(tasks.tiles[row]! || 1)));
      if (tasks.mapped[row]) facts.push(...fact("mapping", time(tasks.mapped[row]!)));
      facts.push(...fact("bytes", `${bytes(tasks.read[row]!)} read, ${bytes(tasks.written[row]!)} written`));
      // A GPU's box is the time there; the host was through with the task long before.
      const onGpu = rank.trackOf(box).lane === "gpu";
      if (moved && onGpu) facts.push(...fact("bandwidth", bandwidth(moved, length)));
      else if (moved) facts.push(...bandwidthFact(rank, moved, tasks.ran[row]!));
      if (tasks.failed[row]) facts.push(...fact("ended", "with an error"));
    }
  }
  return facts.length ? [el("h3", {}, "Facts"), el("dl", { class: "facts" }, ...facts)] : [];
}

function bandwidthFact(rank: Rank, moved: number, ran: number): HTMLElement[] {
  const rate = bandwidth(moved, ran);
  if (!rank.bandwidth || !ran) return fact("bandwidth", rate);
  const share = moved / ran / (rank.bandwidth / 1e9);
  const meter = el("div", { class: "meter" }, el("i", { style: `width:${Math.min(100, share * 100)}%` }));
  return [
    el("dt", {}, "bandwidth"),
    el("dd", {}, `${rate}, ${percent(share)} of the machine's ${bandwidth(rank.bandwidth, 1e9)}`, meter),
  ];
}

function gapBetween(rank: Rank, before: number, box: number): string {
  const gap = rank.boxes.start[box]! - rank.boxes.stop[before]!;
  return gap > 0 ? `then idle for ${time(gap)}` : "back to back";
}

const walk = (items: HTMLElement[]): HTMLElement => el("ul", { class: "walk" }, ...items);

function boxItem(app: App, at: BoxAt, why = ""): HTMLElement {
  const { rank, box } = at;
  const name = rank.nameOf(box);
  return el(
    "li",
    { click: () => app.select(at, true) },
    el("i", { class: "swatch", style: `background:${app.palette.of(name, RUNNING)}` }),
    el("span", { class: "name link" }, app.session.names.texts[name]!),
    el("span", { class: "amount" }, time(rank.boxes.stop[box]! - rank.boxes.start[box]!)),
    why && el("span", { class: "why" }, why),
  );
}

/** A task as a link to its first box; one that has none is only named. */
function taskItem(app: App, rank: Rank, task: number, why = ""): HTMLElement {
  const box = relationsOf(rank).boxes(task)[0];
  if (box !== undefined) return boxItem(app, { rank, box }, why);
  return el(
    "li",
    {},
    el("span", {}),
    el("span", { class: "name soft" }, `task ${task}`),
    el("span", {}),
    why && el("span", { class: "why" }, why),
  );
}

function waitsOf(app: App, rank: Rank, task: number): HTMLElement[] {
  const relations = relationsOf(rank);
  const before = relations.before(task).sort((a, b) => relations.stopped(b) - relations.stopped(a));
  const after = relations.after(task);
  const list = (tasks: number[]): HTMLElement => walk(tasks.slice(0, LISTED).map((other) => taskItem(app, rank, other)));
  const more = (n: number): HTMLElement[] => (n > LISTED ? [el("p", { class: "soft" }, `and ${count(n - LISTED)} more`)] : []);
  return [
    ...(before.length ? [el("h3", {}, "Waited for"), list(before), ...more(before.length)] : []),
    ...(after.length ? [el("h3", {}, "Waited for by"), list(after), ...more(after.length)] : []),
  ];
}

const REASON: Record<Cause["why"], (delay: string) => string> = {
  dependence: (delay) => `needed its result; started ${delay} after it`,
  processor: (delay) => `waited for the processor; started ${delay} after it`,
  program: (delay) => `the program waited for it before asking; started ${delay} after being asked for`,
  start: () => "the program had not asked earlier",
};

function pathOf(app: App, rank: Rank, task: number): HTMLElement[] {
  const steps = relationsOf(rank).path(task, 60);
  if (steps.length < 2) return [];
  const items = steps
    .slice(1)
    .map(({ task: other }, i) => taskItem(app, rank, other, REASON[steps[i]!.cause.why](time(steps[i]!.cause.delay))));
  const last = steps[steps.length - 1]!;
  items.push(el("li", {}, el("span", {}), el("span", { class: "why" }, REASON.start(""), last.cause.task ? " …" : "")));
  return [el("h3", {}, `Critical path behind it · ${steps.length - 1} ${steps.length === 2 ? "step" : "steps"}`), walk(items)];
}

/** Instances made for the task and read by it, as links to their memory at their birth, and copies. */
function arraysOf(app: App, rank: Rank, task: number): HTMLElement[] {
  const relations = relationsOf(rank);
  const { instances, copies } = rank.tables;
  const deaths = deathsOf(rank);
  const row = (r: number): HTMLElement => {
    const death = deaths.get(instances.id[r]!);
    const lived = death === undefined ? "lives to the end" : `lived ${time(death - instances.born[r]!)}`;
    const memory = rank.memories.find(({ id }) => id === instances.memory[r]!);
    const name = rank.string(instances.shape[r]!) || `instance ${instances.id[r]}`;
    const go = memory ? { click: () => app.selectMoment({ memory, time: instances.born[r]! }) } : {};
    return el(
      "tr",
      { class: "instance", title: memory ? `Show ${memory.label} when it was made` : "", ...go },
      el("td", {}, el("span", { class: memory ? "code link" : "code" }, name)),
      el("td", { class: "soft" }, lived),
      el("td", {}, bytes(instances.bytes[r]!)),
    );
  };
  const listed = (rows: number[]): HTMLElement[] => [
    ...rows.slice(0, LISTED).map(row),
    ...(rows.length > LISTED ? [el("tr", {}, el("td", { class: "soft" }, `and ${count(rows.length - LISTED)} more`))] : []),
  ];
  const made = listed(Array.from(relations.instances(task)));
  const read = listed(relations.read(task));
  const moved = Array.from(relations.copies(task), (r) =>
    el(
      "tr",
      {},
      el("td", {}, REASONS[copies.reason[r]!] ?? "?"),
      el("td", { class: "soft" }, time(copies.ran[r]!)),
      el("td", {}, bytes(copies.bytes[r]!)),
    ),
  );
  const table = (rows: HTMLElement[]): HTMLElement => el("table", {}, el("tbody", {}, ...rows));
  return [
    ...(made.length ? [el("h3", {}, "Instances made for it"), table(made)] : []),
    ...(read.length ? [el("h3", {}, "Instances it read"), table(read)] : []),
    ...(moved.length ? [el("h3", {}, "Copies for it"), table(moved.slice(0, LISTED))] : []),
  ];
}

function momentPanel(app: App, { memory, time: at }: MemoryMoment): HTMLElement[] {
  const { rank } = memory;
  const living = memory.living(at);
  const level = memory.levelAt(at);
  const { instances } = rank.tables;
  const groups = byLine(rank, living);
  return [
    el("h2", {}, `${memory.label} at ${moment(at, app.view.span)}`),
    el(
      "p",
      { class: "soft" },
      `${bytes(level)} in use${memory.capacity ? `, ${percent(level / memory.capacity)} of ${bytes(memory.capacity)}` : ""}; high-water mark ${bytes(memory.peak)} at ${moment(memory.peakAt, app.view.span)}. `,
      el("a", { click: () => app.selectMoment({ memory, time: memory.peakAt }) }, "Go there"),
    ),
    el("h3", {}, "By the line that made them"),
    ...groups
      .slice(0, LISTED)
      .map(({ line, bytes: size, number }) =>
        sourceButton(app, rank, line, [`${bytes(size)} in ${number} ${number === 1 ? "instance" : "instances"}`]),
      ),
    el("h3", {}, `Instances · ${count(living.length)}`),
    el(
      "table",
      {},
      el(
        "tbody",
        {},
        ...living
          .slice(0, 40)
          .map(({ row, bytes: size }) =>
            el(
              "tr",
              {},
              el(
                "td",
                {},
                el("span", { class: "code" }, rank.string(instances.shape[row]!) || `instance ${instances.id[row]}`),
                el("span", { class: "soft" }, ` ${rank.string(instances.by[row]!)}`),
                makerOf(app, rank, instances.task[row]!),
                el("div", { class: "faint" }, readingOf(rank, instances.id[row]!)),
              ),
              el("td", {}, bytes(size)),
            ),
          ),
      ),
    ),
  ];
}

/** The task that an instance was made for, as a link. */
function makerOf(app: App, rank: Rank, task: number): HTMLElement | "" {
  const box = task ? relationsOf(rank).boxes(task)[0] : undefined;
  if (box === undefined) return "";
  return el("span", {}, " · ", el("a", { click: () => app.select({ rank, box }, true) }, `task ${task}`));
}
