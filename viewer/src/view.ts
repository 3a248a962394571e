// What the page shows: the window in time, what is folded, selected and asked for. The address holds
// all of it, and undo is going back to an earlier address.

export interface ViewState {
  from: number;
  to: number;
  scroll: number;
  flipped: Set<string>;
  query: string;
  only: boolean;
  panel: string;
  /** "rank.box" of the selected box, or "". */
  selected: string;
}

const LEAST_SPAN = 20;
const SETTLED_AFTER = 400;

export class View implements ViewState {
  from = 0;
  to = 1;
  scroll = 0;
  flipped = new Set<string>();
  query = "";
  only = false;
  panel = "";
  selected = "";
  private past: string[] = [];
  private future: string[] = [];
  private current = "";
  private timer = 0;
  private readonly watchers: (() => void)[] = [];

  constructor(readonly end: number) {
    this.to = end;
  }

  get span(): number {
    return this.to - this.from;
  }

  watch(watcher: () => void): void {
    this.watchers.push(watcher);
  }

  /** After any change. Changes that follow each other quickly, as turns of a wheel, are one step of undo. */
  changed(): void {
    for (const watcher of this.watchers) watcher();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.settle(), SETTLED_AFTER);
  }

  settle(): void {
    clearTimeout(this.timer);
    const now = this.address();
    if (now === this.current) return;
    if (this.current) {
      this.past.push(this.current);
      this.future.length = 0;
    }
    this.current = now;
    history.replaceState(null, "", "#" + now);
  }

  show(from: number, to: number): void {
    const span = Math.min(this.end * 1.1, Math.max(LEAST_SPAN, to - from));
    const margin = span * 0.5;
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(middle - span / 2, -margin), this.end + margin - span);
    this.to = this.from + span;
    this.changed();
  }

  zoom(factor: number, around: number): void {
    const span = Math.min(this.end * 1.1, Math.max(LEAST_SPAN, this.span * factor));
    const share = (around - this.from) / this.span;
    const from = around - share * span;
    this.show(from, from + span);
  }

  pan(by: number): void {
    this.show(this.from + by, this.to + by);
  }

  fit(): void {
    this.from = -this.end * 0.004;
    this.to = this.end * 1.012;
    this.changed();
  }

  flip(key: string): void {
    if (!this.flipped.delete(key)) this.flipped.add(key);
    this.changed();
  }

  undo(): boolean {
    this.settle();
    return this.step(this.past, this.future);
  }

  redo(): boolean {
    this.settle();
    return this.step(this.future, this.past);
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  private step(source: string[], target: string[]): boolean {
    const address = source.pop();
    if (address === undefined) return false;
    target.push(this.current);
    this.current = address;
    this.restore(address);
    history.replaceState(null, "", "#" + address);
    for (const watcher of this.watchers) watcher();
    return true;
  }

  address(): string {
    const words = new URLSearchParams();
    if (new URLSearchParams(location.hash.slice(1)).has("served")) words.set("served", "");
    words.set("t", `${Math.round(this.from)}..${Math.round(this.to)}`);
    if (this.scroll) words.set("y", String(Math.round(this.scroll)));
    if (this.flipped.size) words.set("fold", [...this.flipped].sort().join(","));
    if (this.query) words.set("q", this.query);
    if (this.only) words.set("only", "1");
    if (this.panel) words.set("panel", this.panel);
    if (this.selected) words.set("box", this.selected);
    return words.toString();
  }

  /** Takes what the address says; what it does not say is as at the start. Nonsense is ignored. */
  restore(address: string): void {
    const words = new URLSearchParams(address);
    const [from, to] = (words.get("t") ?? "").split("..").map(Number);
    if (from !== undefined && to !== undefined && to - from >= LEAST_SPAN && Number.isFinite(to - from)) {
      [this.from, this.to] = [from, to];
    } else [this.from, this.to] = [-this.end * 0.004, this.end * 1.012];
    this.scroll = Math.max(0, Number(words.get("y") ?? 0) || 0);
    this.flipped = new Set((words.get("fold") ?? "").split(",").filter(Boolean));
    this.query = words.get("q") ?? "";
    this.only = words.get("only") === "1";
    this.panel = words.get("panel") ?? "";
    this.selected = words.get("box") ?? "";
  }
}
