// One rank's file as the viewer works with it: boxes sorted by track and start, tasks found by number.
// Everything is a column; there is no object for a box.

import type { ReadFile } from "./format";
import { BOXES, COPY, FALLBACK, MEMORY_LANES, MEMORY_NAMES, PROCESSOR_LANES, PROCESSOR_NAMES, RUNS } from "./kinds";
import { MemoryTrack } from "./memory";
import type { Tables } from "./tables";

/** Names of boxes, one numbering for all runs, so that an operation has one colour everywhere. */
export class Names {
  readonly texts: string[] = [];
  private readonly numbers = new Map<string, number>();

  number(text: string): number {
    let found = this.numbers.get(text);
    if (found === undefined) {
      found = this.texts.length;
      this.texts.push(text);
      this.numbers.set(text, found);
    }
    return found;
  }
}

export interface Boxes {
  start: Float64Array;
  stop: Float64Array;
  kind: Uint8Array;
  subject: Uint32Array;
  line: Uint32Array;
  count: Float64Array;
}

/** The boxes of one row, `first` to `last`; they follow each other and never overlap. */
export interface Track {
  key: string;
  lane: string;
  label: string;
  first: number;
  last: number;
}

const NO_ROW = 0xffffffff;
/** Task numbers may begin anywhere, but a table of rows by number must stay in proportion to the rows. */
const SPARSE = 1 << 24;

export class Rank {
  readonly meta: Map<string, string>;
  readonly number: number;
  readonly tables: Tables;
  readonly boxes: Boxes;
  readonly tracks: Track[] = [];
  readonly memories: MemoryTrack[] = [];
  readonly end: number;
  readonly bandwidth: number;
  private readonly nameOfString: Uint32Array;
  private readonly nameOfKind = new Uint32Array(256);
  private readonly firstTask: number;
  private readonly rowOfTask: Uint32Array;

  constructor(readonly file: ReadFile, readonly names: Names, public index: number) {
    this.tables = file.tables;
    const { meta, strings } = file.tables;
    this.meta = new Map(meta.key.map((key, row) => [key, meta.value[row]!]));
    this.number = Number(this.meta.get("rank") ?? 0) || 0;
    this.bandwidth = Number(this.meta.get("bandwidth") ?? 0) || 0;
    this.nameOfString = new Uint32Array(strings.rows + 1);
    this.nameOfString[0] = names.number("?");
    for (let row = 0; row < strings.rows; row++) this.nameOfString[row + 1] = names.number(strings.text[row]!);
    for (const [kind, { name }] of Object.entries(BOXES)) this.nameOfKind[Number(kind)] = names.number(name);
    [this.firstTask, this.rowOfTask] = indexOfTasks(this.tables.tasks.id);
    this.boxes = this.arrange();
    this.arrangeMemories();
    this.end = this.lastMoment();
  }

  string(number: number): string {
    return number === 0 ? "" : this.tables.strings.text[number - 1] ?? "?";
  }

  /** The row of a task, or -1: it was not over when the file ended. */
  taskRow(id: number): number {
    const row = this.rowOfTask[id - this.firstTask];
    return row === undefined || row === NO_ROW ? -1 : row;
  }

  nameOf(box: number): number {
    const kind = this.boxes.kind[box]!;
    if (kind <= 1) {
      const row = this.taskRow(this.boxes.subject[box]!);
      return row < 0 ? this.nameOfKind[RUNS]! : this.nameOfString[this.tables.tasks.name[row]!] ?? 0;
    }
    return kind === FALLBACK ? this.nameOfString[this.boxes.subject[box]!] ?? 0 : this.nameOfKind[kind]!;
  }

  /** The line of a box; a task's box has its task's where it has none of its own. */
  lineOf(box: number): number {
    const own = this.boxes.line[box]!;
    if (own || !BOXES[this.boxes.kind[box]!]?.task) return own;
    const row = this.taskRow(this.boxes.subject[box]!);
    return row < 0 ? 0 : this.tables.tasks.line[row]!;
  }

  trackOf(box: number): Track {
    return this.tracks.find((track) => box >= track.first && box < track.last)!;
  }

  place(line: number): { file: string; line: number; function: string } | null {
    if (line === 0 || line > this.tables.lines.rows) return null;
    const { file, line: number, function: name } = this.tables.lines;
    return { file: this.string(file[line - 1]!), line: number[line - 1]!, function: this.string(name[line - 1]!) };
  }

  /** Spans by processor, then copies by path, each in the order of their start. */
  private arrange(): Boxes {
    const { processors, spans, copies } = this.tables;
    const total = spans.rows + copies.rows;
    const boxes: Boxes = {
      start: new Float64Array(total), stop: new Float64Array(total), kind: new Uint8Array(total),
      subject: new Uint32Array(total), line: new Uint32Array(total), count: new Float64Array(total),
    };
    let most = 0;
    for (let row = 0; row < spans.rows; row++) if (spans.processor[row]! > most) most = spans.processor[row]!;
    const slot = new Uint32Array(Math.min(most, SPARSE) + 2);
    for (let row = 0; row < spans.rows; row++) slot[spans.processor[row]! + 1]!++;
    for (let p = 0; p + 1 < slot.length; p++) slot[p + 1]! += slot[p]!;
    const firsts = slot.slice();
    for (let row = 0; row < spans.rows; row++) {
      const at = slot[spans.processor[row]!]!++;
      const begun = spans.started[row]!;
      boxes.start[at] = begun;
      boxes.stop[at] = begun + spans.ran[row]!;
      boxes.kind[at] = spans.kind[row]!;
      boxes.subject[at] = spans.subject[row]!;
      boxes.line[at] = spans.line[row]!;
      boxes.count[at] = spans.count[row]!;
    }
    const rows = Array.from(processors.id.keys()).sort((a, b) => processors.index[a]! - processors.index[b]!);
    for (const row of rows) {
      const id = processors.id[row]!;
      const kind = processors.kind[row]!;
      const named = this.string(processors.name[row]!);
      const first = firsts[id] ?? 0;
      const last = firsts[id + 1] ?? first;
      this.tracks.push({
        key: `p${id}`, lane: PROCESSOR_LANES[kind] ?? "utility",
        label: named || `${PROCESSOR_NAMES[kind] ?? "?"} ${processors.index[row]}`, first, last,
      });
    }
    this.arrangeCopies(boxes, spans.rows);
    for (const track of this.tracks) inOrder(boxes, track);
    return boxes;
  }

  /** A track a path; where copies overlap, further tracks of the same path take them. */
  private arrangeCopies(boxes: Boxes, from: number): void {
    const { copies } = this.tables;
    const rows = Array.from(copies.started.keys()).sort((a, b) => copies.started[a]! - copies.started[b]!);
    const paths = new Map<string, { label: string; until: number[]; rows: number[][] }>();
    for (const row of rows) {
      const key = `${copies.from[row]}-${copies.to[row]}`;
      let path = paths.get(key);
      if (!path) {
        const label = `${this.memoryName(copies.from[row]!)} → ${this.memoryName(copies.to[row]!)}`;
        paths.set(key, (path = { label, until: [], rows: [] }));
      }
      let level = path.until.findIndex((until) => until <= copies.started[row]!);
      if (level < 0) level = path.until.push(0) - 1;
      path.until[level] = copies.started[row]! + copies.ran[row]!;
      (path.rows[level] ??= []).push(row);
    }
    let at = from;
    for (const [key, path] of paths) {
      path.rows.forEach((members, level) => {
        const first = at;
        for (const row of members) {
          boxes.start[at] = copies.started[row]!;
          boxes.stop[at] = copies.started[row]! + copies.ran[row]!;
          boxes.kind[at] = COPY;
          boxes.subject[at] = row;
          boxes.line[at] = copies.line[row]!;
          boxes.count[at++] = copies.bytes[row]!;
        }
        this.tracks.push({ key: `c${key}.${level}`, lane: "channel", label: path.label, first, last: at });
      });
    }
  }

  private memoryName(id: number): string {
    const { memories } = this.tables;
    const row = memories.id.indexOf(id);
    if (row < 0) return `memory ${id}`;
    const kind = memories.kind[row]!;
    const alone = memories.kind.filter((k) => k === kind).length === 1;
    return this.string(memories.name[row]!) || (MEMORY_NAMES[kind] ?? "memory") + (alone ? "" : ` ${memories.index[row]}`);
  }

  private arrangeMemories(): void {
    const { memories } = this.tables;
    for (let row = 0; row < memories.rows; row++) {
      const id = memories.id[row]!;
      const lane = MEMORY_LANES[memories.kind[row]!] ?? "system";
      this.memories.push(new MemoryTrack(this, id, lane, this.memoryName(id), memories.capacity[row]!));
    }
  }

  private lastMoment(): number {
    const { end, tasks } = this.tables;
    let last = end.rows ? end.time[end.rows - 1]! : 0;
    for (const track of this.tracks) if (track.last > track.first) last = Math.max(last, this.boxes.stop[track.last - 1]!);
    for (const memory of this.memories) last = Math.max(last, memory.lastMoment());
    if (tasks.rows && last === 0) last = tasks.created[tasks.rows - 1]! + tasks.ran[tasks.rows - 1]!;
    return last;
  }
}

function indexOfTasks(ids: Uint32Array): [number, Uint32Array] {
  let [least, most] = [NO_ROW, 0];
  for (let row = 0; row < ids.length; row++) {
    const id = ids[row]!;
    if (id < least) least = id;
    if (id > most) most = id;
  }
  if (ids.length === 0) return [0, new Uint32Array(0)];
  if (most - least > ids.length * 4 + SPARSE) throw new Error("task numbers lie too far apart: the file is damaged");
  const rows = new Uint32Array(most - least + 1).fill(NO_ROW);
  for (let row = 0; row < ids.length; row++) rows[ids[row]! - least] = row;
  return [least, rows];
}

/** A recorder writes boxes in order; a file that does not is sorted, so that binary search holds. */
function inOrder(boxes: Boxes, { first, last }: Track): void {
  let sorted = true;
  for (let i = first + 1; i < last && sorted; i++) sorted = boxes.start[i]! >= boxes.start[i - 1]!;
  if (sorted) return;
  const order = Array.from({ length: last - first }, (_, i) => first + i).sort((a, b) => boxes.start[a]! - boxes.start[b]!);
  for (const column of Object.values(boxes) as Float64Array[]) {
    const copy = column.slice(first, last);
    order.forEach((from, i) => (column[first + i] = copy[from - first]!));
  }
}
