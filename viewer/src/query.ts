// Search and filter are one thing: words that a box must match. Every text is tested once, in its
// table; the boxes then only look up the answers.

import { Lengths } from "./busy";
import { BOXES, COPY, FALLBACK, REASONS, VARIANTS } from "./kinds";
import type { Rank } from "./rank";
import type { Session } from "./session";
import { parseTime } from "./words";

/** The boxes of a rank that match, in the order of the rank's boxes. */
export interface Matches {
  ids: Uint32Array;
  start: Float64Array;
  stop: Float64Array;
  lengths: Lengths;
  time: number;
}

type Test = (box: number) => boolean;
interface Term {
  field: string;
  relation: string;
  value: string;
}

export const FIELDS: Record<string, string> = {
  name: "operation or kind of work", line: "line number, or file:line", lane: "CPU, Utility, …", shape: "as float32[100]",
  function: "Python function", text: "source text", task: "task number", dur: "dur>1ms, dur<20us", bytes: "bytes>1e6",
};

export function parseQuery(query: string): Term[] {
  const words = query.match(/[a-z]+[:<>=]"[^"]*"|"[^"]*"|\S+/gi) ?? [];
  return words.map((word) => {
    const found = /^([a-z]+)([:<>=])(.*)$/is.exec(word);
    const field = found?.[1]?.toLowerCase() ?? "";
    if (found && field in FIELDS) return { field, relation: found[2]!, value: unquoted(found[3]!) };
    return { field: "", relation: ":", value: unquoted(word) };
  }).filter((term) => term.value !== "");
}

const unquoted = (word: string): string => word.replace(/^"(.*)"$/, "$1").toLowerCase();

export function findMatches(session: Session, query: string): Map<Rank, Matches> | null {
  const terms = parseQuery(query);
  if (terms.length === 0) return null;
  return new Map(session.ranks.map((rank) => [rank, matchesIn(rank, terms)]));
}

function matchesIn(rank: Rank, terms: Term[]): Matches {
  const tests = terms.map((term) => testFor(rank, term));
  const total = rank.boxes.start.length;
  const hit = new Uint8Array(total);
  let count = 0;
  boxes: for (let box = 0; box < total; box++) {
    for (const test of tests) if (!test(box)) continue boxes;
    hit[box] = 1;
    count++;
  }
  const ids = new Uint32Array(count);
  const [start, stop] = [new Float64Array(count), new Float64Array(count)];
  let at = 0;
  let time = 0;
  for (let box = 0; box < total; box++) {
    if (!hit[box]) continue;
    ids[at] = box;
    start[at] = rank.boxes.start[box]!;
    stop[at] = rank.boxes.stop[box]!;
    time += stop[at]! - start[at++]!;
  }
  return { ids, start, stop, lengths: new Lengths(start, stop), time };
}

function testFor(rank: Rank, term: Term): Test {
  const { boxes } = rank;
  switch (term.field) {
    case "dur": {
      const limit = parseTime(term.value);
      if (Number.isNaN(limit)) return () => false;
      return term.relation === "<" ? (b) => boxes.stop[b]! - boxes.start[b]! < limit : (b) => boxes.stop[b]! - boxes.start[b]! > limit;
    }
    case "bytes": {
      const limit = Number(term.value);
      return term.relation === "<" ? (b) => bytesOf(rank, b) < limit : (b) => bytesOf(rank, b) > limit;
    }
    case "task": {
      const id = Number(term.value);
      return (b) => taskOf(rank, b) === id;
    }
    case "lane":
      return laneTest(rank, term.value);
    case "name":
      return nameTest(rank, term.value);
    case "line":
      return lineTest(rank, (place) => place.endsWith(`:${term.value}`) || (term.value.includes(":") && place.endsWith(term.value)), false);
    case "function":
      return lineTest(rank, (_, name) => name.includes(term.value), false);
    case "text":
      return lineTest(rank, (_, __, text) => text.includes(term.value), true);
    case "shape":
      return operationTest(rank, (row) => rank.string(rank.tables.operations.shape[row]!).toLowerCase().includes(term.value));
    default:
      return anywhere(rank, term.value);
  }
}

function anywhere(rank: Rank, value: string): Test {
  const number = /^\d+$/.test(value) ? Number(value) : -1;
  const { operations, copies } = rank.tables;
  const strings = rank.tables.strings.text.map((text) => text.toLowerCase().includes(value));
  const tests = [
    nameTest(rank, value), laneTest(rank, value),
    lineTest(rank, (place, name, text) => place.includes(value) || name.includes(value) || text.includes(value), true),
    operationTest(rank, (row) => Boolean(strings[operations.name[row]! - 1] || strings[operations.shape[row]! - 1])),
  ];
  const reasons = REASONS.map((reason) => reason.includes(value));
  const variants = VARIANTS.map((variant) => variant.includes(value));
  tests.push((b) => rank.boxes.kind[b] === COPY && reasons[copies.reason[rank.boxes.subject[b]!]!]!);
  tests.push((b) => {
    const row = rank.taskRow(taskOf(rank, b));
    return row >= 0 && variants[rank.tables.tasks.variant[row]!]!;
  });
  if (number >= 0) tests.push((b) => taskOf(rank, b) === number);
  return (b) => tests.some((test) => test(b));
}

function nameTest(rank: Rank, value: string): Test {
  const hits = Uint8Array.from(rank.names.texts, (text) => Number(text.toLowerCase().includes(value)));
  const abouts = new Uint8Array(256);
  for (const [kind, { name, about }] of Object.entries(BOXES)) {
    abouts[Number(kind)] = Number(Number(kind) > 0 && `${name} ${about}`.toLowerCase().includes(value));
  }
  const fused = operationTest(rank, (row) => rank.string(rank.tables.operations.name[row]!).toLowerCase().includes(value));
  return (b) => hits[rank.nameOf(b)] === 1 || abouts[rank.boxes.kind[b]!] === 1 || fused(b);
}

function laneTest(rank: Rank, value: string): Test {
  const hits = rank.tracks.filter((t) => `${t.lane} ${t.label}`.toLowerCase().includes(value));
  return (b) => hits.some((track) => b >= track.first && b < track.last);
}

/** Boxes whose own line, or a line of one of their operations, passes. */
function lineTest(rank: Rank, passes: (place: string, name: string, text: string) => boolean, withText: boolean): Test {
  const { lines } = rank.tables;
  const hits = new Uint8Array(lines.rows + 1);
  const sources = withText ? sourceLines(rank) : new Map<string, string[]>();
  for (let line = 1; line <= lines.rows; line++) {
    const place = rank.place(line)!;
    const text = sources.get(place.file)?.[place.line - 1] ?? "";
    hits[line] = Number(passes(`${place.file}:${place.line}`.toLowerCase(), place.function.toLowerCase(), text.toLowerCase()));
  }
  const inside = operationTest(rank, (row) => hits[rank.tables.operations.line[row]!] === 1);
  return (b) => hits[rank.lineOf(b)] === 1 || inside(b);
}

/** Boxes of tasks with an operation that passes. */
function operationTest(rank: Rank, passes: (row: number) => boolean): Test {
  const { operations, tasks } = rank.tables;
  const hits = new Uint8Array(tasks.rows);
  for (let row = 0; row < operations.rows; row++) {
    const task = rank.taskRow(operations.task[row]!);
    if (task >= 0 && !hits[task] && passes(row)) hits[task] = 1;
  }
  return (b) => {
    const row = rank.taskRow(taskOf(rank, b));
    return row >= 0 && hits[row] === 1;
  };
}

/** The task a box is about; 0 where it is about none. */
export function taskOf(rank: Rank, box: number): number {
  const kind = rank.boxes.kind[box]!;
  if (kind === COPY) return rank.tables.copies.task[rank.boxes.subject[box]!]!;
  return kind !== FALLBACK && BOXES[kind]?.task ? rank.boxes.subject[box]! : 0;
}

function bytesOf(rank: Rank, box: number): number {
  const { kind, count } = rank.boxes;
  if (BOXES[kind[box]!]?.counts === "bytes") return count[box]!;
  const row = rank.taskRow(taskOf(rank, box));
  return row < 0 ? 0 : rank.tables.tasks.read[row]! + rank.tables.tasks.written[row]!;
}

const split = new WeakMap<Rank, Map<string, string[]>>();

/** The program's files, line by line. */
export function sourceLines(rank: Rank): Map<string, string[]> {
  let found = split.get(rank);
  if (!found) {
    const { sources } = rank.tables;
    found = new Map(sources.text.map((text, row) => [rank.string(sources.path[row]!), text.split("\n")]));
    split.set(rank, found);
  }
  return found;
}
