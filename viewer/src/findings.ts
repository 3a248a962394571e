// What is worth changing. A report carries findings that the tools wrote; for a bare file the page looks
// for the plainest ones itself. One row a rule.

import { FALLBACK, SYNC } from "./kinds";
import { costsOf, shortName } from "./lines";
import type { Rank } from "./rank";
import type { Run, Session } from "./session";
import { useOf } from "./draw_charts";
import { bytes, count, percent, time } from "./words";

export interface Finding {
  run: Run;
  rank: Rank;
  title: string;
  text: string;
  advice: string;
  /** Nanoseconds and bytes that it costs; 0 where it has no such cost. */
  time: number;
  bytes: number;
  /** Number of the line in the rank's table; 0: none. */
  line: number;
  loop: number;
  /** The nodes it was found on. */
  nodes: number[];
}

type Rule = (session: Session, run: Run, rank: Rank) => Omit<Finding, "run" | "rank" | "nodes">[];

const TINY = 200e3;
const MANY = 100;
const LOOPED = 5;
/** Below this share of the run a cost is not worth a word. */
const WORTH = 0.01;

const RULES: Rule[] = [tinyTasks, syncs, fallbacks, uses, utilityBound, pythonBound, imbalance];

export function findingsOf(session: Session, run: Run): { findings: Finding[]; written: boolean } {
  const written = run.ranks.flatMap((rank) => fromFile(run, rank));
  const given = run.ranks.some((rank) => rank.file.advised);
  const found = given ? written : run.ranks.flatMap((rank) => RULES.flatMap((rule) => rule(session, run, rank).map((one) => ({ ...one, run, rank, nodes: [rank.number] }))));
  return { findings: together(found).sort((a, b) => b.time - a.time || b.bytes - a.bytes), written: given };
}

/** The same finding at the same place on several nodes is one, with the cost of the node it costs most. */
function together(findings: Finding[]): Finding[] {
  const merged = new Map<string, Finding>();
  for (const finding of findings) {
    const place = finding.rank.place(finding.line);
    const key = `${finding.title}\n${place?.file}:${place?.line}`;
    const other = merged.get(key);
    if (!other) merged.set(key, finding);
    else merged.set(key, { ...(finding.time > other.time ? finding : other), nodes: [...other.nodes, ...finding.nodes] });
  }
  return [...merged.values()];
}

function fromFile(run: Run, rank: Rank): Finding[] {
  const { findings: f } = rank.tables;
  return Array.from({ length: f.rows }, (_, row) => ({
    run, rank, title: f.title[row]!, text: f.text[row]!, advice: f.advice[row]!, time: f.seconds[row]! * 1e3,
    bytes: f.bytes[row]!, line: f.line[row]!, loop: f.loop[row]!, nodes: [rank.number],
  }));
}

function tinyTasks(_: Session, run: Run, rank: Rank): ReturnType<Rule> {
  const { tasks, lines } = rank.tables;
  const [number, ran, lost] = [new Float64Array(lines.rows + 1), new Float64Array(lines.rows + 1), new Float64Array(lines.rows + 1)];
  for (let row = 0; row < tasks.rows; row++) {
    if (tasks.ran[row]! >= TINY) continue;
    number[tasks.line[row]!]! += 1;
    ran[tasks.line[row]!]! += tasks.ran[row]!;
    lost[tasks.line[row]!]! += tasks.queued[row]! + tasks.mapped[row]!;
  }
  return linesWhere(number, (n) => n >= MANY).map((line) => ({
    title: "Many tiny tasks from one line", line, loop: 0, bytes: 0, time: Math.min(run.end, lost[line]!),
    text: `${count(number[line]!)} tasks of ${time(ran[line]! / number[line]!)} on average: launching them costs more than they do.`,
    advice: "Work on whole arrays instead of slices in a loop.",
  }));
}

function syncs(_: Session, run: Run, rank: Rank): ReturnType<Rule> {
  const { number, length } = byLine(rank, SYNC);
  return linesWhere(number, (n) => n >= LOOPED).filter((line) => length[line]! > run.end * WORTH).map((line) => ({
    title: "The program waits again and again", line, loop: 0, bytes: 0, time: length[line]!,
    text: `It waits for a value ${count(number[line]!)} times here, ${time(length[line]!)} in all; meanwhile nothing new is recorded.`,
    advice: "Keep the value as an array and read it once, after the loop.",
  }));
}

function fallbacks(_: Session, __: Run, rank: Rank): ReturnType<Rule> {
  const { number, length } = byLine(rank, FALLBACK);
  return linesWhere(number, (n) => n > 0).filter((line) => length[line]! > 1e6).map((line) => ({
    title: "NumPy does it on the host", line, loop: 0, bytes: 0, time: length[line]!,
    text: `${count(number[line]!)} calls went back to NumPy: arrays were computed and handed over first.`,
    advice: "See docs/compatibility.md for what runs natively.",
  }));
}

const USES: Record<number, [string, string]> = {
  2: ["Single elements are read in a loop", "Compute on the whole array, or read it once with np.asarray."],
  3: ["Single elements are written in a loop", "Build the values first and assign a slice."],
  4: ["A loop walks over an array", "Use an operation on the whole array."],
  6: ["Values are read back to build another array", "Keep them as an array all the way."],
  7: ["Arrays are joined again and again", "Make the whole array first and fill its parts."],
  8: ["nonzero where a mask would do", "Use the mask itself: z[mask] = …"],
  13: ["The truth of an array is asked for again and again", "Decide with np.where, or ask less often."],
  14: ["A Python builtin walks over an array", "Use the function of the same name in numloom."],
};

function uses(_: Session, __: Run, rank: Rank): ReturnType<Rule> {
  const { uses: u } = rank.tables;
  const found: ReturnType<Rule> = [];
  for (let row = 0; row < u.rows; row++) {
    const [title, advice] = USES[u.kind[row]!] ?? [];
    if (!title || !advice || (u.count[row]! < LOOPED && u.kind[row] !== 8)) continue;
    const amount = u.bytes[row] ? `, ${bytes(u.bytes[row]!)}` : "";
    found.push({ title, advice, text: `${count(u.count[row]!)} times${amount}.`, line: u.line[row]!, loop: 0, time: 0, bytes: u.bytes[row]! });
  }
  return found;
}

function utilityBound(session: Session, run: Run, rank: Rank): ReturnType<Rule> {
  const share = useOf(session, [rank], "utility", 0, run.end);
  const work = Math.max(useOf(session, [rank], "cpu", 0, run.end), useOf(session, [rank], "gpu", 0, run.end));
  if (share < 0.6 || work > 0.5) return [];
  return [{
    title: "The runtime itself is the bottleneck", line: 0, loop: 0, bytes: 0, time: share * run.end,
    text: `Utility is busy ${percent(share)} of the time, the processors only ${percent(work)}.`,
    advice: "Fewer, larger operations: the panel by line shows which lines make the most tasks.",
  }];
}

function pythonBound(session: Session, run: Run, rank: Rank): ReturnType<Rule> {
  const share = useOf(session, [rank], "io", 0, run.end);
  const work = Math.max(useOf(session, [rank], "cpu", 0, run.end), useOf(session, [rank], "gpu", 0, run.end));
  if (share < 0.7 || work > 0.4) return [];
  const [worst] = [...costsOf(run).byLine.values()].sort((a, b) => b.python - a.python);
  return [{
    title: "Python sets the pace", line: 0, loop: 0, bytes: 0, time: share * run.end,
    text: `The program's own code takes ${percent(share)} of the time${worst ? `, most of it at ${shortName(worst.file)}:${worst.line}` : ""}.`,
    advice: "Move work from Python loops into operations on arrays.",
  }];
}

function imbalance(session: Session, run: Run, rank: Rank): ReturnType<Rule> {
  const busy = session.tracksOf(rank, "cpu").map(({ first, last }) => session.lengthsOf(rank).between(first, last));
  if (busy.length < 2) return [];
  const most = Math.max(...busy);
  const mean = busy.reduce((a, b) => a + b, 0) / busy.length;
  const lost = most - mean;
  if (lost < 0.15 * run.end) return [];
  return [{
    title: "Workers are not equally busy", line: 0, loop: 0, bytes: 0, time: lost,
    text: `The busiest worker has ${time(most)} of work, the mean is ${time(mean)}.`,
    advice: "Look for tasks with a single tile, and for a late phase on one worker.",
  }];
}

function byLine(rank: Rank, kind: number): { number: Float64Array; length: Float64Array } {
  const lines = rank.tables.lines.rows + 1;
  const [number, length] = [new Float64Array(lines), new Float64Array(lines)];
  const { boxes } = rank;
  for (let box = 0; box < boxes.kind.length; box++) {
    if (boxes.kind[box] !== kind) continue;
    number[boxes.line[box]!]! += 1;
    length[boxes.line[box]!]! += boxes.stop[box]! - boxes.start[box]!;
  }
  return { number, length };
}

function linesWhere(numbers: Float64Array, passes: (n: number) => boolean): number[] {
  return Array.from(numbers.keys()).filter((line) => line > 0 && passes(numbers[line]!));
}
