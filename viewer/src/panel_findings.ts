// What is worth changing, the costliest first.

import type { App } from "./app";
import { el } from "./dom";
import { findingsOf, type Finding } from "./findings";
import { sourceButton } from "./panel_box";
import type { Run, Session } from "./session";
import { bytes, time } from "./words";

const known = new WeakMap<Session, Map<Run, ReturnType<typeof findingsOf>>>();

function all(session: Session): Map<Run, ReturnType<typeof findingsOf>> {
  let made = known.get(session);
  if (!made) known.set(session, (made = new Map(session.runs.map((run) => [run, findingsOf(session, run)]))));
  return made;
}

export function findingsCount(session: Session): number {
  return [...all(session).values()].reduce((sum, { findings }) => sum + findings.length, 0);
}

export function findingsPanel(app: App): HTMLElement[] {
  const parts: HTMLElement[] = [el("h2", {}, "Findings")];
  for (const [run, { findings, written }] of all(app.session)) {
    if (app.session.runs.length > 1) parts.push(el("h3", {}, `${run.letter} · ${run.title}`));
    if (findings.length === 0) parts.push(el("p", { class: "soft" }, "Nothing to complain about."));
    else if (!written) parts.push(el("p", { class: "soft" }, "Found by this page in the file itself; numloom prof advise looks closer."));
    parts.push(...findings.map((finding) => card(app, finding)));
  }
  return parts;
}

const sentence = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** Words between backticks are code. */
const coded = (words: string): (Node | string)[] => words.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));

function card(app: App, finding: Finding): HTMLElement {
  const cost = [finding.time ? time(finding.time) : "", finding.bytes ? bytes(finding.bytes) : ""].filter(Boolean).join(" · ");
  const nodes = [...new Set(finding.nodes)];
  const node = finding.run.ranks.length > nodes.length ? ` · node ${nodes.join(", ")}` : "";
  return el("article", { class: "finding" },
    el("header", {}, el("b", {}, ...coded(sentence(finding.title) + node)), el("span", { class: "cost" }, cost)),
    el("p", { class: "soft" }, ...coded(finding.text)),
    el("p", { class: "advice" }, ...coded(finding.advice)),
    finding.line ? sourceButton(app, finding.rank, finding.line) : null,
    finding.loop && finding.loop !== finding.line ? sourceButton(app, finding.rank, finding.loop, ["the loop around it"]) : null);
}
