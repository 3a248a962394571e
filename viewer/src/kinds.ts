// What the numbers in a profile stand for: lanes, boxes, reasons. One row each.

export interface LaneKind {
  id: string;
  name: string;
  /** What one row of the lane is called. */
  one: string;
  many: string;
  hue: number;
  about: string;
}

/** In the order in which they stand on the page. */
export const LANES: LaneKind[] = [
  { id: "cpu", name: "CPU", one: "worker", many: "workers", hue: 262, about: "Tasks on the workers. Long bars are good; a bar code of slivers means many tiny tasks." },
  { id: "omp", name: "OpenMP", one: "group", many: "groups", hue: 205, about: "Tasks on groups of workers." },
  { id: "gpu", name: "GPU Device", one: "GPU", many: "GPUs", hue: 150, about: "Kernels on the GPUs." },
  { id: "gpuhost", name: "GPU Host", one: "GPU", many: "GPUs", hue: 130, about: "The host's work for the GPUs: launches, arguments, streams." },
  { id: "utility", name: "Utility", one: "thread", many: "threads", hue: 300, about: "Analysis, fusion, compilation, mapping. Short bursts are good; a plateau means the runtime is the bottleneck." },
  { id: "io", name: "IO", one: "thread", many: "threads", hue: 48, about: "The Python program: its own code, calls recorded, waits for values, fallbacks to NumPy." },
  { id: "dp", name: "Dependent Partitioning", one: "thread", many: "threads", hue: 22, about: "Parts and images that depend on data." },
  { id: "channel", name: "Channel", one: "path", many: "paths", hue: 340, about: "Copies between memories. A thin lasting baseline means many small copies." },
  { id: "system", name: "System", one: "memory", many: "memories", hue: 232, about: "Host memory: how full it is, and the time that allocation took." },
  { id: "fb", name: "Framebuffer", one: "memory", many: "memories", hue: 170, about: "GPU memory: how full it is." },
  { id: "zc", name: "Zero Copy", one: "memory", many: "memories", hue: 98, about: "Pinned host memory that GPUs read directly." },
];

export const PROCESSOR_LANES = ["cpu", "utility", "io", "system", "omp", "gpu", "gpuhost", "dp"];
export const PROCESSOR_NAMES = ["CPU", "Utility", "Python", "Allocator", "OpenMP", "GPU", "GPU host", "Partitioning"];
export const MEMORY_LANES = ["system", "system", "fb", "zc", "system"];
export const MEMORY_NAMES = ["SYSTEM_MEM", "SOCKET_MEM", "FB_MEM", "ZC_MEM", "spill file"];

export const RUNS = 0;
export const WAITS_INSIDE = 1;
export const PYTHON = 20;
export const SYNC = 22;
export const FALLBACK = 23;
export const COPY = 64;

export interface BoxKind {
  name: string;
  about: string;
  /** Time in it is waiting, not work. */
  waits?: boolean;
  /** `subject` names a task. */
  task?: boolean;
  /** What `count` counts. */
  counts?: string;
}

export const BOXES: Record<number, BoxKind> = {
  0: { name: "task", about: "a task runs", task: true, counts: "tiles" },
  1: { name: "waits", about: "a task waits inside, for memory or its turn on a device", task: true, waits: true },
  10: { name: "merge", about: "slices of a loop become one operation", counts: "operations" },
  11: { name: "analyse", about: "stores, hazards, what is dead", counts: "operations" },
  12: { name: "fuse", about: "a plan is made", counts: "tasks" },
  13: { name: "fuse (known)", about: "the plan was known", counts: "tasks" },
  14: { name: "compile", about: "a kernel is made", counts: "instructions" },
  15: { name: "launch", about: "tasks made, edges drawn", counts: "tasks" },
  16: { name: "map", about: "memory and addresses for a task", task: true, counts: "bytes" },
  20: { name: "Python", about: "the program's own code" },
  21: { name: "record", about: "calls that enter the window", counts: "operations" },
  22: { name: "sync", about: "the program waits for a value", task: true, waits: true },
  23: { name: "fallback", about: "NumPy does it on the host" },
  24: { name: "small operations", about: "they ran at once, on the program's own thread", counts: "operations" },
  25: { name: "full", about: "recording waits: too much is in flight", waits: true },
  30: { name: "allocate", about: "memory from the system", counts: "bytes" },
  31: { name: "wait for memory", about: "memory that is about to be free", waits: true, counts: "bytes" },
  32: { name: "spill", about: "arrays move to make room", counts: "bytes" },
  40: { name: "put in stream", about: "a task is put into a device's stream", task: true },
  50: { name: "partition", about: "a task is cut into parts", task: true, counts: "parts" },
  51: { name: "image", about: "lengths and places that depend on data", task: true },
  64: { name: "copy", about: "bytes move from one memory to another", counts: "bytes" },
};

export const VARIANTS = ["fused kernel", "chain of kernels", "library operation", "GPU library operation"];
export const REASONS = [
  "a task reads it there", "kept bytes of a partial write", "back to the host", "made room", "spill",
  "back from the spill file", "placed by the program",
];
export const TRAITS: [number, string][] = [
  [1, "casts"], [2, "writes where a mask is true"], [4, "reads with strides that jump"], [8, "its result is never stored"],
];
