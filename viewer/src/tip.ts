// The summary beside the pointer.

import type { App } from "./app";
import { byId, el, fill } from "./dom";
import { meanUse, useOf } from "./draw_charts";
import { reasonsOf, type Gap } from "./gap";
import type { Hit } from "./hit";
import { BOXES, RUNS } from "./kinds";
import { shortName } from "./lines";
import type { Living } from "./memory";
import { sourceLines, taskOf } from "./query";
import type { Rank } from "./rank";
import type { BoxAt } from "./session";
import { bytes, count, moment, percent, time } from "./words";

export function showTip(app: App): void {
  const tip = byId("tip");
  const { pointer } = app;
  const content = pointer?.hit && pointer.dragFrom === null ? summary(app, pointer.hit) : null;
  tip.hidden = !content;
  if (!content || !pointer) return;
  fill(tip, ...content);
  const stage = byId("stage").getBoundingClientRect();
  const [x, y] = [stage.left + pointer.x, stage.top + pointer.y];
  tip.style.left = `${Math.min(window.innerWidth - tip.offsetWidth - 8, x + 16)}px`;
  tip.style.top = `${y + 20 + tip.offsetHeight > window.innerHeight ? y - tip.offsetHeight - 12 : y + 20}px`;
}

function summary(app: App, hit: Hit): (Node | string)[] | null {
  const { row } = hit;
  if (row.type === "lane") {
    if (hit.inGutter) return [el("b", {}, row.lane.name), el("div", { class: "soft" }, row.lane.about), el("div", {}, `${percent(meanUse(app, row.ranks, row.lane.id))} on average in view`)];
    const width = app.view.span / 400;
    return [el("b", {}, row.lane.name), el("div", {}, `${percent(useOf(app.session, row.ranks, row.lane.id, hit.time - width, hit.time + width))} at ${moment(hit.time, app.view.span)}`)];
  }
  if (row.type === "memory" && !hit.inGutter) return memorySummary(row.memory.rank, row.memory.label, row.memory.levelAt(hit.time), row.memory.living(hit.time));
  if (row.type === "phases" && hit.phase !== undefined) {
    const { ranges } = row.rank.tables;
    return [el("b", {}, row.rank.string(ranges.name[hit.phase]!)), el("div", { class: "soft" }, time(ranges.ran[hit.phase]!))];
  }
  if (hit.block && row.type === "track") return blockSummary(app, row.rank, hit.block.from, hit.block.to);
  if (hit.gap && row.type === "track" && !app.view.only) return gapSummary(app, row.rank, hit.gap);
  return hit.box ? boxSummary(app, hit.box) : null;
}

/** An idle stretch, and what the next task waited for in it. */
function gapSummary(app: App, rank: Rank, gap: Gap): Node[] | null {
  if (gap.to <= gap.from) return null;
  const names = app.session.names.texts;
  const lines: Node[] = [el("b", {}, `Idle for ${time(gap.to - gap.from)}`)];
  if (gap.next < 0) return [...lines, el("div", { class: "soft" }, "nothing came any more")];
  const { unasked, blocked, ready, blockedBy, program, runtime } = reasonsOf(rank, gap);
  const say = (...words: string[]): number => lines.push(el("div", { class: "soft" }, words.join("")));
  if (unasked > 0) {
    const doing = program >= 0 ? `; the program: ${names[rank.nameOf(program)]}${where(rank, program)}` : "";
    const runs = runtime >= 0 ? `; the runtime: ${names[rank.nameOf(runtime)]}` : "";
    say(`${time(unasked)} nobody had asked for more${doing}${runs}`);
  }
  const row = rank.taskRow(blockedBy);
  if (blocked > 0) say(`${time(blocked)} blocked${row >= 0 ? `, waiting for ${rank.string(rank.tables.tasks.name[row]!)}` : ""}`);
  if (ready > 0) say(`${time(ready)} ready, waiting for its turn`);
  return [...lines, el("div", {}, `then ${names[rank.nameOf(gap.next)]}`), ...lineSummary(rank, rank.lineOf(gap.next))];
}

function where(rank: Rank, box: number): string {
  const place = rank.place(rank.lineOf(box));
  return place ? ` at ${shortName(place.file)}:${place.line}` : "";
}

function boxSummary(app: App, { rank, box }: BoxAt): Node[] {
  const { boxes } = rank;
  const kind = BOXES[boxes.kind[box]!];
  const lines: Node[] = [el("b", {}, app.session.names.texts[rank.nameOf(box)]!)];
  const about = [time(boxes.stop[box]! - boxes.start[box]!)];
  if (boxes.kind[box] !== RUNS && kind) about.push(kind.about);
  const row = rank.taskRow(taskOf(rank, box));
  if (row >= 0 && boxes.kind[box] === RUNS) {
    const { blocked, queued, read, written } = rank.tables.tasks;
    if (read[row]! + written[row]!) about.push(bytes(read[row]! + written[row]!));
    if (blocked[row]!) about.push(`blocked ${time(blocked[row]!)}`);
    if (queued[row]!) about.push(`ready ${time(queued[row]!)}`);
  }
  lines.push(el("div", { class: "soft" }, about.join(" · ")));
  return [...lines, ...lineSummary(rank, rank.lineOf(box))];
}

export function lineSummary(rank: Rank, line: number): Node[] {
  const place = rank.place(line);
  if (!place) return [];
  const text = sourceLines(rank).get(place.file)?.[place.line - 1]?.trim();
  return [el("span", { class: "code" }, text ?? ""), el("div", { class: "faint" }, `${shortName(place.file)}:${place.line}`)];
}

const LOOKED_AT = 5000;

function blockSummary(app: App, rank: Rank, from: number, to: number): Node[] {
  const { start, stop } = rank.boxes;
  const busy = app.session.lengthsOf(rank).between(from, to);
  const times = new Map<number, number>();
  for (let box = from; box < Math.min(to, from + LOOKED_AT); box++) {
    const name = rank.nameOf(box);
    times.set(name, (times.get(name) ?? 0) + stop[box]! - start[box]!);
  }
  const top = [...times].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([name]) => app.session.names.texts[name]);
  return [
    el("b", {}, `${count(to - from)} boxes merged`),
    el("div", { class: "soft" }, `${percent(busy / Math.max(1, stop[to - 1]! - start[from]!))} busy in ${time(stop[to - 1]! - start[from]!)}`),
    el("div", {}, top.join(", ") + (times.size > 3 ? ", …" : "")),
    el("div", { class: "faint" }, "click to zoom in"),
  ];
}

function memorySummary(rank: Rank, label: string, level: number, living: Living[]): Node[] {
  const lines = byLine(rank, living).slice(0, 6);
  const rows = lines.map(({ line, bytes: size, number }) => {
    const place = rank.place(line);
    const text = place ? sourceLines(rank).get(place.file)?.[place.line - 1]?.trim() ?? "" : "";
    const where = place ? `${shortName(place.file)}:${place.line}` : "unknown line";
    return el("tr", {}, el("td", {}, where, number > 1 ? ` ×${number}` : "", el("span", { class: "code faint" }, text.slice(0, 44))), el("td", {}, bytes(size)));
  });
  return [el("b", {}, `${bytes(level)} in ${label}`), el("table", {}, ...rows), el("div", { class: "faint" }, "click to keep this moment")];
}

/** Living instances by the line that made their array, the largest sum first. */
export function byLine(rank: Rank, living: Living[]): { line: number; bytes: number; number: number }[] {
  const sums = new Map<number, { line: number; bytes: number; number: number }>();
  for (const { row, bytes: size } of living) {
    const line = rank.tables.instances.line[row]! || rank.tables.instances.byLine[row]!;
    const sum = sums.get(line) ?? { line, bytes: 0, number: 0 };
    sum.bytes += size;
    sum.number++;
    sums.set(line, sum);
  }
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
}
