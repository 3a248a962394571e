// The tables of a profile's file, as docs/profile-format.md lists them: one row a column. Everything
// else about reading is derived from here.

export type ColumnType = "u8" | "u32" | "f64" | "text";

export const TABLES = {
  meta: { kind: 1, columns: { key: [1, "text"], value: [2, "text"] } },
  strings: { kind: 2, columns: { text: [1, "text"] } },
  sources: { kind: 3, columns: { path: [1, "u32"], text: [2, "text"] } },
  lines: { kind: 4, columns: { file: [1, "u32"], line: [2, "u32"], function: [3, "u32"] } },
  processors: { kind: 5, columns: { id: [1, "u32"], kind: [2, "u8"], index: [3, "u32"], name: [4, "u32"] } },
  memories: {
    kind: 6,
    columns: { id: [1, "u32"], kind: [2, "u8"], index: [3, "u32"], capacity: [4, "f64"], name: [5, "u32"] },
  },
  tasks: {
    kind: 7,
    columns: {
      id: [1, "u32"],
      name: [2, "u32"],
      created: [3, "f64"],
      blocked: [4, "f64"],
      queued: [5, "f64"],
      ran: [6, "f64"],
      line: [7, "u32"],
      variant: [8, "u8"],
      read: [9, "f64"],
      written: [10, "f64"],
      tiles: [11, "u32"],
      operations: [12, "u32"],
      mapped: [13, "f64"],
      failed: [14, "u8"],
    },
  },
  spans: {
    kind: 8,
    columns: {
      processor: [1, "u32"],
      started: [2, "f64"],
      ran: [3, "f64"],
      kind: [4, "u8"],
      subject: [5, "u32"],
      line: [6, "u32"],
      count: [7, "f64"],
    },
  },
  operations: {
    kind: 9,
    columns: {
      task: [1, "u32"],
      name: [2, "u32"],
      line: [3, "u32"],
      shape: [4, "u32"],
      recorded: [5, "f64"],
      times: [6, "u32"],
      traits: [7, "u8"],
    },
  },
  edges: { kind: 10, columns: { task: [1, "u32"], from: [2, "u32"] } },
  instances: {
    kind: 11,
    columns: {
      id: [1, "f64"],
      memory: [2, "u32"],
      bytes: [3, "f64"],
      born: [4, "f64"],
      line: [5, "u32"],
      by: [6, "u32"],
      byLine: [7, "u32"],
      shape: [8, "u32"],
      store: [9, "f64"],
      task: [10, "u32"],
    },
  },
  deaths: { kind: 12, columns: { instance: [1, "f64"], time: [2, "f64"], reads: [3, "f64"] } },
  reads: { kind: 23, columns: { task: [1, "u32"], instance: [2, "f64"] } },
  copies: {
    kind: 13,
    columns: {
      from: [1, "u32"],
      to: [2, "u32"],
      started: [3, "f64"],
      ran: [4, "f64"],
      bytes: [5, "f64"],
      reason: [6, "u8"],
      line: [7, "u32"],
      task: [8, "u32"],
    },
  },
  levels: { kind: 14, columns: { memory: [1, "u32"], time: [2, "f64"], bytes: [3, "f64"], peak: [4, "f64"] } },
  ranges: {
    kind: 15,
    columns: {
      name: [1, "u32"],
      started: [2, "f64"],
      ran: [3, "f64"],
      depth: [4, "u32"],
      line: [5, "u32"],
      thread: [6, "u32"],
    },
  },
  small: {
    kind: 16,
    columns: {
      name: [1, "u32"],
      line: [2, "u32"],
      first: [3, "f64"],
      last: [4, "f64"],
      count: [5, "f64"],
      elements: [6, "f64"],
    },
  },
  counters: { kind: 17, columns: { time: [1, "f64"], name: [2, "u32"], value: [3, "f64"] } },
  uses: {
    kind: 18,
    columns: { kind: [1, "u8"], line: [2, "u32"], count: [3, "f64"], bytes: [4, "f64"], what: [5, "u32"], time: [6, "f64"] },
  },
  findings: {
    kind: 19,
    columns: {
      kind: [1, "u32"],
      line: [2, "u32"],
      loop: [3, "u32"],
      seconds: [4, "f64"],
      bytes: [5, "f64"],
      title: [6, "text"],
      text: [7, "text"],
      advice: [8, "text"],
    },
  },
  end: { kind: 20, columns: { time: [1, "f64"] } },
  held: { kind: 21, columns: { instance: [1, "f64"], reads: [2, "f64"], lastRead: [3, "f64"] } },
} as const satisfies Record<string, { kind: number; columns: Record<string, readonly [number, ColumnType]> }>;

interface Arrays {
  u8: Uint8Array;
  u32: Uint32Array;
  f64: Float64Array;
  text: string[];
}

export type TableName = keyof typeof TABLES;
export type Table<N extends TableName> = { rows: number } & {
  -readonly [C in keyof (typeof TABLES)[N]["columns"]]: (typeof TABLES)[N]["columns"][C] extends readonly [
    number,
    infer T extends ColumnType,
  ]
    ? Arrays[T]
    : never;
};
export type Tables = { [N in TableName]: Table<N> };

/** A table of `rows` rows with every column it can have, all zeros. */
export function emptyTable<N extends TableName>(name: N, rows = 0): Table<N> {
  const table: Record<string, unknown> = { rows };
  const columns: Record<string, readonly [number, ColumnType]> = TABLES[name].columns;
  for (const [column, [, type]] of Object.entries(columns)) table[column] = emptyColumn(type, rows);
  return table as Table<N>;
}

function emptyColumn(type: ColumnType, rows: number): Arrays[ColumnType] {
  if (type === "u8") return new Uint8Array(rows);
  if (type === "u32") return new Uint32Array(rows);
  if (type === "f64") return new Float64Array(rows);
  return new Array<string>(rows).fill("");
}
