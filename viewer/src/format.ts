// A profile's file into tables (docs/profile-format.md).

import { Damage, knownEncoding, readNumbers, readTexts } from "./columns";
import { crc32 } from "./crc";
import { Inflater } from "./inflate";
import { TABLES, emptyTable, type ColumnType, type Table, type TableName, type Tables } from "./tables";

const MAGIC = "NLPROF\r\n";
const CHUNK = 0x4b4e4843;
const HEADER = 16;
const CHUNK_HEADER = 24;
const MOST_RAW = 2 ** 26;
const MOST_ROWS = 2 ** 20;
const DEFLATED = 1;

export interface ReadFile {
  name: string;
  bytes: number;
  tables: Tables;
  /** What a reader should know: kinds skipped, an end cut off. */
  notes: string[];
  complete: boolean;
  /** Its findings are all there are: the page need not look for more. */
  advised: boolean;
}

interface Chunk {
  at: number;
  kind: number;
  flags: number;
  stored: number;
  raw: number;
  rows: number;
  firstRow: number;
}

const BY_KIND = new Map<number, TableName>((Object.keys(TABLES) as TableName[]).map((name) => [TABLES[name].kind, name]));

export async function readProfile(name: string, bytes: Uint8Array, progress: (share: number) => void): Promise<ReadFile> {
  const notes: string[] = [];
  const chunks = findChunks(name, bytes, notes);
  const rows = new Map<number, number>();
  for (const chunk of chunks) {
    chunk.firstRow = rows.get(chunk.kind) ?? 0;
    rows.set(chunk.kind, chunk.firstRow + chunk.rows);
  }
  const tables = emptyTables(rows);
  // A tick is 1 ns unless META says otherwise, so META is read before anything that holds times.
  const inOrder = [...chunks].sort((a, b) => Number(a.kind !== TABLES.meta.kind) - Number(b.kind !== TABLES.meta.kind));
  const unknown = new Set<string>();
  const deflated = inOrder.filter((chunk) => BY_KIND.has(chunk.kind) && chunk.flags & DEFLATED);
  const inflater = new Inflater(deflated.map((chunk) => ({ stored: storedOf(bytes, chunk), raw: chunk.raw })));
  let inflated = 0;
  let tick = 0;
  let done = 0;
  let rested = performance.now();
  for (const chunk of inOrder) {
    if (tick === 0 && chunk.kind !== TABLES.meta.kind) tick = tickLength(tables.meta);
    const table = BY_KIND.get(chunk.kind);
    try {
      check(bytes, chunk);
      if (table) {
        const raw = chunk.flags & DEFLATED ? await inflater.bytes(inflated++) : plain(bytes, chunk);
        readChunk(tables, table, raw, chunk, tick || 1, unknown);
      } else unknown.add(`kind ${chunk.kind}`);
    } catch (error) {
      inflater.end();
      if (error instanceof Damage) throw new Damage(`${name}: damaged at byte ${chunk.at}: ${error.message}`);
      throw error;
    }
    done += chunk.stored;
    if (performance.now() - rested > 100) {
      progress(done / bytes.length);
      await new Promise((go) => setTimeout(go));
      rested = performance.now();
    }
  }
  inflater.end();
  if (unknown.size) notes.push(`skipped, written by a newer version: ${[...unknown].join(", ")}`);
  return { name, bytes: bytes.length, tables, notes, complete: tables.end.rows > 0, advised: false };
}

function findChunks(name: string, bytes: Uint8Array, notes: string[]): Chunk[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = String.fromCharCode(...bytes.subarray(0, MAGIC.length));
  if (magic !== MAGIC || bytes.length < HEADER) throw new Damage(`${name} is not a profile of Numloom`);
  const major = view.getUint16(8, true);
  if (major !== 1) throw new Damage(`${name}: version ${major} of the format; this viewer reads version 1`);
  const chunks: Chunk[] = [];
  let at = HEADER;
  while (at + CHUNK_HEADER <= bytes.length) {
    if (view.getUint32(at, true) !== CHUNK) throw new Damage(`${name}: damaged at byte ${at}: no chunk starts there`);
    const chunk = {
      at,
      kind: view.getUint16(at + 4, true),
      flags: view.getUint16(at + 6, true),
      stored: view.getUint32(at + 8, true),
      raw: view.getUint32(at + 12, true),
      rows: view.getUint32(at + 16, true),
      firstRow: 0,
    };
    if (at + CHUNK_HEADER + chunk.stored > bytes.length) break;
    if (chunk.raw > MOST_RAW || chunk.rows > MOST_ROWS || chunk.rows > chunk.raw) {
      throw new Damage(`${name}: damaged at byte ${at}: a chunk claims ${chunk.rows} rows in ${chunk.raw} bytes`);
    }
    chunks.push(chunk);
    at += CHUNK_HEADER + chunk.stored;
  }
  if (at < bytes.length) notes.push(`the last ${bytes.length - at} bytes were not yet written whole; they are left out`);
  return chunks;
}

function emptyTables(rows: Map<number, number>): Tables {
  const names = Object.keys(TABLES) as TableName[];
  return Object.fromEntries(names.map((name) => [name, emptyTable(name, rows.get(TABLES[name].kind))])) as unknown as Tables;
}

function check(bytes: Uint8Array, chunk: Chunk): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset + chunk.at, CHUNK_HEADER);
  const start = chunk.at + CHUNK_HEADER;
  const found = crc32(bytes, start, start + chunk.stored, crc32(bytes, chunk.at, chunk.at + 20));
  if (found !== view.getUint32(20, true)) throw new Damage("the checksum is wrong");
}

const storedOf = (bytes: Uint8Array, chunk: Chunk): Uint8Array =>
  bytes.subarray(chunk.at + CHUNK_HEADER, chunk.at + CHUNK_HEADER + chunk.stored);

function plain(bytes: Uint8Array, chunk: Chunk): Uint8Array {
  if (chunk.stored !== chunk.raw) throw new Damage("a chunk that is not deflated has two lengths");
  return storedOf(bytes, chunk);
}

/** Columns that hold times or lengths of time, which ticks are turned into nanoseconds. */
const TIMES = new Set([
  "created",
  "blocked",
  "queued",
  "ran",
  "mapped",
  "started",
  "recorded",
  "born",
  "time",
  "first",
  "last",
  "lastRead",
]);

function readChunk(tables: Tables, name: TableName, raw: Uint8Array, chunk: Chunk, tick: number, unknown: Set<string>): void {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  const columns = Object.entries(TABLES[name].columns) as [string, readonly [number, ColumnType]][];
  const table = tables[name] as unknown as Record<string, Uint8Array | Uint32Array | Float64Array | string[]>;
  let at = 0;
  while (at < raw.length) {
    if (at + 6 > raw.length) throw new Damage("a column's header is cut off");
    const [id, encoding, length] = [raw[at]!, raw[at + 1]!, view.getUint32(at + 2, true)];
    const [from, to] = [at + 6, at + 6 + length];
    if (to > raw.length) throw new Damage("a column is longer than its chunk");
    at = to;
    const column = columns.find(([, [number]]) => number === id);
    if (!column || !knownEncoding(encoding)) {
      unknown.add(`column ${id} of ${name}`);
      continue;
    }
    const out = table[column[0]]!;
    if (Array.isArray(out)) readTexts(raw, from, to, encoding, out, chunk.firstRow, chunk.rows);
    else readNumbers(raw, from, to, encoding, out, chunk.firstRow, chunk.rows, TIMES.has(column[0]) ? tick : 1);
  }
}

function tickLength(meta: Table<"meta">): number {
  const at = meta.key.lastIndexOf("tick_ns");
  const length = at < 0 ? 1 : Number(meta.value[at]);
  return length > 0 && Number.isFinite(length) ? length : 1;
}
