// Numbers as people read them. Times are nanoseconds everywhere in the viewer.

const TIME_STEPS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const BYTE_STEPS: [number, string][] = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];

/** Three significant digits, without the zeros that say nothing. */
function digits(value: number, places = 3): string {
  const size = Math.abs(value);
  if (size >= 10 ** (places - 1)) return Math.round(value).toString();
  return Number(value.toPrecision(places)).toString();
}

export function time(ns: number): string {
  if (!Number.isFinite(ns)) return "–";
  if (ns === 0) return "0 s";
  const [step, unit] = TIME_STEPS.find(([s]) => Math.abs(ns) >= s * 0.9995) ?? TIME_STEPS[3]!;
  return `${digits(ns / step)} ${unit}`;
}

/** The words at the ruler's ticks: one unit for all of them, and no digit more than the step needs. */
export function tick(ns: number, step: number, farthest: number): string {
  const [size, unit] = TIME_STEPS.find(([s]) => farthest >= s) ?? TIME_STEPS[3]!;
  return `${(ns / size).toFixed(Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9)))} ${unit}`;
}

/** A moment with the precision that a span of `span` nanoseconds deserves. */
export function moment(ns: number, span: number): string {
  const [step, unit] = TIME_STEPS.find(([s]) => Math.max(Math.abs(ns), span) >= s) ?? TIME_STEPS[3]!;
  const places = Math.min(9, Math.max(0, Math.ceil(Math.log10(step / Math.max(span / 1000, 1)))));
  return `${(ns / step).toFixed(places)} ${unit}`;
}

export function bytes(count: number): string {
  const found = BYTE_STEPS.find(([s]) => Math.abs(count) >= s);
  return found ? `${digits(count / found[0])} ${found[1]}` : `${count} B`;
}

/** Bytes moved in a time, in the unit machines are sold by. */
export function bandwidth(count: number, ns: number): string {
  return ns > 0 ? `${digits(count / ns)} GB/s` : "–";
}

export function count(value: number): string {
  if (value < 10_000) return value.toString();
  if (value < 1e6) return `${digits(value / 1e3)} k`;
  return `${digits(value / 1e6)} M`;
}

export function percent(share: number): string {
  if (share > 0 && share < 0.005) return "<1 %";
  return `${Math.round(share * 100)} %`;
}

export function change(before: number, after: number): string {
  if (before === 0) return after === 0 ? "" : "new";
  if (after === 0) return "gone";
  const ratio = after / before;
  if (Math.abs(ratio - 1) < 0.005) return "same";
  return ratio >= 1 ? `×${digits(ratio)}` : `÷${digits(1 / ratio)}`;
}

/** "12.5ms", "3 s" or "800" (nanoseconds); NaN for anything else. */
export function parseTime(text: string): number {
  const found = /^\s*([\d.]+)\s*(s|ms|us|µs|ns)?\s*$/.exec(text);
  if (!found) return NaN;
  const unit = found[2] === "us" ? "µs" : found[2] ?? "ns";
  return Number(found[1]) * TIME_STEPS.find(([, u]) => u === unit)![0];
}
