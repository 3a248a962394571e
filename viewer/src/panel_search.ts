// Search in words, filters in fields, and what was found.

import type { App } from "./app";
import { RUNNING } from "./colour";
import { el } from "./dom";
import { FIELDS, parseQuery } from "./query";
import type { BoxAt } from "./session";
import { count, moment, time } from "./words";

const LISTED = 60;

/** The matches one after another, over all ranks; `by` steps from the selected one, or from the view's start. */
export function stepToMatch(app: App, by: number): void {
  const { matches } = app;
  if (!matches) return;
  const all = [...matches].flatMap(([rank, found]) => (found.ids.length ? [{ rank, found }] : []));
  const total = all.reduce((sum, { found }) => sum + found.ids.length, 0);
  if (total === 0) return;
  const selected = app.selected;
  let at = by > 0 ? -1 : 0;
  let before = 0;
  for (const { rank, found } of all) {
    const i = selected?.rank === rank ? found.ids.indexOf(selected.box) : -1;
    if (i >= 0) at = before + i;
    before += found.ids.length;
  }
  let next = (at + by + total) % total;
  for (const { rank, found } of all) {
    if (next < found.ids.length) return app.select({ rank, box: found.ids[next]! }, true);
    next -= found.ids.length;
  }
}

export function searchPanel(app: App): HTMLElement[] {
  const parts = [el("h2", {}, "Search and filter"), fields(app)];
  parts.push(el("div", { class: "chips", style: "margin-top:14px" },
    el("button", { "aria-pressed": String(!app.view.only), click: () => setOnly(app, false) }, "Fade the others"),
    el("button", { "aria-pressed": String(app.view.only), click: () => setOnly(app, true) }, "Hide the others"),
    el("button", { click: () => app.ask("") }, "Clear")));
  if (!app.matches) return [...parts, words()];
  const found: BoxAt[] = [];
  let [total, spent] = [0, 0];
  for (const [rank, matches] of app.matches) {
    total += matches.ids.length;
    spent += matches.time;
    for (let i = 0; i < matches.ids.length && found.length < LISTED; i++) found.push({ rank, box: matches.ids[i]! });
  }
  parts.push(el("p", {}, `${count(total)} ${total === 1 ? "box" : "boxes"}, ${time(spent)} in all`));
  parts.push(el("ul", { class: "walk" }, ...found.map(({ rank, box }) => {
    const name = rank.nameOf(box);
    return el("li", { click: () => app.select({ rank, box }, true) },
      el("i", { class: "swatch", style: `background:${app.palette.of(name, RUNNING)}` }),
      el("span", { class: "name link" }, app.session.names.texts[name]!),
      el("span", { class: "amount" }, time(rank.boxes.stop[box]! - rank.boxes.start[box]!)),
      el("span", { class: "why" }, `${rank.trackOf(box).label} at ${moment(rank.boxes.start[box]!, app.view.span)}`));
  })));
  if (total > found.length) parts.push(el("p", { class: "soft" }, `and ${count(total - found.length)} more: n and p walk through all of them`));
  return parts;
}

function setOnly(app: App, only: boolean): void {
  app.view.only = only;
  app.view.changed();
}

const FILTERS: { label: string; field: string; relation: string; hint: string }[] = [
  { label: "Name", field: "name", relation: ":", hint: "sqrt" },
  { label: "Line", field: "line", relation: ":", hint: "12 or program.py:12" },
  { label: "Longer than", field: "dur", relation: ">", hint: "1ms" },
  { label: "Shorter than", field: "dur", relation: "<", hint: "20us" },
];

/** Four fields that write the query: a filter is nothing but a search. */
function fields(app: App): HTMLElement {
  const terms = parseQuery(app.view.query);
  return el("div", { class: "fields" }, ...FILTERS.map(({ label, field, relation, hint }) => {
    const value = terms.find((term) => term.field === field && term.relation === relation)?.value ?? "";
    const change = (event: Event): void => {
      const typed = (event.target as HTMLInputElement).value.trim();
      const rest = terms.filter((term) => term.field !== field || term.relation !== relation);
      const kept = rest.map((term) => (term.field ? `${term.field}${term.relation}` : "") + quoted(term.value));
      app.ask([...kept, ...(typed ? [`${field}${relation}${quoted(typed)}`] : [])].join(" "));
    };
    return el("label", {}, label, el("input", { value, placeholder: hint, spellcheck: "false", change }));
  }));
}

const quoted = (value: string): string => (/\s/.test(value) ? `"${value}"` : value);

function words(): HTMLElement {
  return el("div", {}, el("h3", {}, "Words of the search box"),
    el("p", { class: "soft" }, "A bare word is looked for in every field. All words must match."),
    el("dl", { class: "facts" }, ...Object.entries(FIELDS).flatMap(([field, about]) => [el("dt", { class: "code" }, `${field}:`), el("dd", { class: "soft" }, about)])));
}
