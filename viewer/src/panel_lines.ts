// The program's text with what each line cost, of one run or of two side by side.

import type { App } from "./app";
import { el } from "./dom";
import { costsOf, pairLines, shortName, totalOf, type Costs, type LineCost, type LinePair } from "./lines";
import { tone } from "./panel_run";
import { bytes, change, count, time } from "./words";

const MOST_LINES = 3000;
/** Lines around one that cost something are shown for their sense. */
const CONTEXT = 3;

let sorted = false;

export function linesPanel(app: App, again: () => void): HTMLElement[] {
  const { runs } = app.session;
  const chips = el("div", { class: "chips" },
    chip("As written", !sorted, () => ((sorted = false), again())),
    chip("Most time first", sorted, () => ((sorted = true), again())));
  if (runs.length > 1) {
    const pairs = pairLines(costsOf(runs[0]!), costsOf(runs[1]!));
    return [el("h2", {}, `${runs[0]!.letter} against ${runs[1]!.letter}, by line`), total(app, pairs), chips, comparison(app, pairs)];
  }
  const costs = costsOf(runs[0]!);
  return [el("h2", {}, "By line"), el("p", { class: "soft", style: "margin-bottom:12px" }, "Processor time, waits of the program, bytes moved and tasks of each line."), chips, ...(sorted ? [ranking(app, costs)] : listing(app, costs))];
}

const chip = (words: string, on: boolean, click: () => void): HTMLElement => el("button", { "aria-pressed": String(on), click }, words);
const cell = (words: string, kind = ""): HTMLElement => el("span", { class: `cell ${kind}` }, words);
const some = (value: number, words: (v: number) => string): string => (value > 0 ? words(value) : "");

function head(...names: string[]): HTMLElement {
  return el("div", { class: "row head" }, el("span"), el("span"), ...names.map((name) => cell(name)));
}

function lineRow(app: App, number: number, text: string, cost: LineCost | undefined, most: number): HTMLElement {
  // An empty line must be as high as the others.
  text ||= "\u200b";
  const all = totalOf(cost);
  if (!cost || (all === 0 && cost.tasks === 0)) return el("div", { class: "row idle" }, el("span", { class: "number" }, String(number)), el("span", { class: "code" }, text));
  const where = `${shortName(cost.file)}:${cost.line}`;
  const heat = el("i", { class: "heat", style: `width:${((100 * all) / most).toFixed(2)}%` });
  const title = `${time(cost.time)} on processors, ${time(cost.waits)} waiting, ${time(cost.python)} in Python, ${bytes(cost.made)} in new arrays${cost.small ? `, ${count(cost.small)} small operations at once` : ""}`;
  return el("div", { class: `row${app.view.query === `line:${where}` ? " chosen" : ""}`, title, "data-line": cost.line, click: () => app.ask(`line:${where}`) },
    el("span", { class: "number" }, String(number)), el("span", { class: "code" }, heat, text),
    cell(some(cost.time, time), "main"), cell(some(cost.waits, time)), cell(some(cost.bytes, bytes)), cell(some(cost.tasks, count)));
}

function listing(app: App, costs: Costs): HTMLElement[] {
  const most = Math.max(1, ...[...costs.byLine.values()].map(totalOf));
  const parts: HTMLElement[] = [];
  for (const file of costs.files.values()) {
    const shown = new Set<number>();
    for (const cost of costs.byLine.values()) {
      if (cost.file !== file.path || (totalOf(cost) === 0 && cost.tasks === 0)) continue;
      for (let line = cost.line - CONTEXT; line <= cost.line + CONTEXT; line++) if (line >= 1 && line <= file.lines.length) shown.add(line);
    }
    if (file.lines.length < 200) file.lines.forEach((_, i) => shown.add(i + 1));
    const rows = [...shown].sort((a, b) => a - b).slice(0, MOST_LINES).map((line) => lineRow(app, line, file.lines[line - 1]!, costs.at(file.path, line), most));
    parts.push(el("h3", {}, file.name), el("div", { class: "listing" }, head("time", "waits", "bytes", "tasks"), ...rows));
  }
  const rest = [...costs.byLine.values()].filter((cost) => !costs.files.has(cost.file) && totalOf(cost) > 0);
  if (rest.length) parts.push(el("h3", {}, "Without recorded source"), el("div", { class: "listing" }, head("time", "waits", "bytes", "tasks"), ...rest.map((cost) => lineRow(app, cost.line, shortName(cost.file), cost, most))));
  return parts;
}

function ranking(app: App, costs: Costs): HTMLElement {
  const lines = [...costs.byLine.values()].filter((cost) => totalOf(cost) > 0).sort((a, b) => totalOf(b) - totalOf(a)).slice(0, MOST_LINES);
  const most = totalOf(lines[0]) || 1;
  return el("div", { class: "listing" }, head("time", "waits", "bytes", "tasks"), ...lines.map((cost) => lineRow(app, cost.line, cost.text.trim(), cost, most)));
}

function total(app: App, pairs: LinePair[]): HTMLElement {
  const [a, b] = [app.session.runs[0]!.end, app.session.runs[1]!.end];
  const changed = pairs.filter(({ before, after }) => Math.abs(totalOf(after) - totalOf(before)) > 0.05 * Math.max(totalOf(before), totalOf(after))).length;
  return el("p", { class: "soft", style: "margin-bottom:12px" }, `The run took ${time(a)}, then ${time(b)} (`, el("span", { class: tone(a, b) }, change(a, b)), `). ${changed} of ${pairs.length} lines changed by more than 5 %.`);
}

/** Time, waits and Python of a line together: a run is not better when time only moves from one to another. */
function comparison(app: App, pairs: LinePair[]): HTMLElement {
  const difference = ({ before, after }: LinePair): number => totalOf(after) - totalOf(before);
  const shown = pairs.filter(({ before, after }) => totalOf(before) + totalOf(after) > 0);
  const where = ({ before, after }: LinePair): number => (before ?? after)!.line;
  shown.sort(sorted ? (p, q) => Math.abs(difference(q)) - Math.abs(difference(p)) : (p, q) => where(p) - where(q));
  const most = Math.max(1, ...shown.map((pair) => Math.abs(difference(pair))));
  const rows = shown.slice(0, MOST_LINES).map((pair) => {
    const cost = (pair.before ?? pair.after)!;
    const [a, b] = [totalOf(pair.before), totalOf(pair.after)];
    const kind = tone(a, b);
    const colour = kind === "worse" ? "var(--mark)" : kind === "better" ? "var(--good)" : "transparent";
    return el("div", { class: "row", "data-line": cost.line, click: () => app.ask(`line:${shortName(cost.file)}:${cost.line}`) },
      el("span", { class: "number" }, String(cost.line)),
      el("span", { class: "code" }, el("i", { class: "heat", style: `background:${colour};width:${((100 * Math.abs(b - a)) / most).toFixed(2)}%` }), cost.text.trim()),
      cell(some(a, time)), cell(some(b, time), "main"), cell(change(a, b), kind));
  });
  return el("div", { class: "listing compare" }, head("A", "B", "change"), ...rows);
}
