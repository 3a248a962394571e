// What the drawing code may ask for, on a canvas or in an SVG file: the exported picture is drawn by
// the same code as the one on the screen.

export type Align = "left" | "right" | "center";

export interface Painter {
  rect(x: number, y: number, width: number, height: number, fill: string, alpha?: number): void;
  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width?: number, dash?: number[]): void;
  /** The region between the points (x0, y0, x1, y1, …) and the horizontal `base`. */
  area(points: number[], base: number, fill: string, alpha?: number): void;
  path(points: number[], stroke: string, width?: number, alpha?: number): void;
  text(words: string, x: number, y: number, fill: string, font: string, align?: Align): void;
  width(words: string, font: string): number;
  clip(x: number, y: number, width: number, height: number, inside: () => void): void;
}

const SANS = `-apple-system, "Segoe UI", "Inter", "Noto Sans", "Helvetica Neue", "Liberation Sans", system-ui, sans-serif`;
const MONO = `ui-monospace, "SF Mono", "JetBrains Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace`;
export const FONTS = {
  label: `500 12px ${SANS}`,
  strong: `600 12.5px ${SANS}`,
  small: `11px ${SANS}`,
  code: `11px ${MONO}`,
};

const widths = new Map<string, number>();
let ruler: CanvasRenderingContext2D | null = null;

function measured(words: string, font: string): number {
  const key = font + words;
  let found = widths.get(key);
  if (found === undefined) {
    ruler ??= document.createElement("canvas").getContext("2d")!;
    ruler.font = font;
    found = ruler.measureText(words).width;
    if (widths.size > 20_000) widths.clear();
    widths.set(key, found);
  }
  return found;
}

/** As much of the words as fits, with an ellipsis; empty when not even three letters do. */
export function fitted(words: string, room: number, font: string): string {
  const full = measured(words, font);
  if (full <= room) return words;
  const letters = Math.floor((words.length * room) / full) - 1;
  return letters < 3 ? "" : words.slice(0, letters) + "…";
}

export class CanvasPainter implements Painter {
  constructor(private readonly to: CanvasRenderingContext2D) {}

  rect(x: number, y: number, width: number, height: number, fill: string, alpha = 1): void {
    if (alpha !== 1) this.to.globalAlpha = alpha;
    this.to.fillStyle = fill;
    this.to.fillRect(x, y, width, height);
    if (alpha !== 1) this.to.globalAlpha = 1;
  }

  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width = 1, dash: number[] = []): void {
    this.to.strokeStyle = stroke;
    this.to.lineWidth = width;
    this.to.setLineDash(dash);
    this.to.beginPath();
    this.to.moveTo(x1, y1);
    this.to.lineTo(x2, y2);
    this.to.stroke();
    this.to.setLineDash([]);
  }

  area(points: number[], base: number, fill: string, alpha = 1): void {
    if (points.length < 4) return;
    this.to.globalAlpha = alpha;
    this.to.fillStyle = fill;
    this.to.beginPath();
    this.to.moveTo(points[0]!, base);
    for (let i = 0; i < points.length; i += 2) this.to.lineTo(points[i]!, points[i + 1]!);
    this.to.lineTo(points[points.length - 2]!, base);
    this.to.fill();
    this.to.globalAlpha = 1;
  }

  path(points: number[], stroke: string, width = 1, alpha = 1): void {
    if (points.length < 4) return;
    this.to.globalAlpha = alpha;
    this.to.strokeStyle = stroke;
    this.to.lineWidth = width;
    this.to.lineJoin = "round";
    this.to.beginPath();
    this.to.moveTo(points[0]!, points[1]!);
    for (let i = 2; i < points.length; i += 2) this.to.lineTo(points[i]!, points[i + 1]!);
    this.to.stroke();
    this.to.globalAlpha = 1;
  }

  text(words: string, x: number, y: number, fill: string, font: string, align: Align = "left"): void {
    this.to.font = font;
    this.to.textAlign = align;
    this.to.textBaseline = "middle";
    this.to.fillStyle = fill;
    this.to.fillText(words, x, y);
  }

  width(words: string, font: string): number {
    return measured(words, font);
  }

  clip(x: number, y: number, width: number, height: number, inside: () => void): void {
    this.to.save();
    this.to.beginPath();
    this.to.rect(x, y, width, height);
    this.to.clip();
    inside();
    this.to.restore();
  }
}

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
export const escaped = (words: string): string => words.replace(/[&<>"]/g, (c) => ESCAPES[c]!);

export class SvgPainter implements Painter {
  private readonly parts: string[] = [];
  private clips = 0;

  constructor(private readonly wide: number, private readonly high: number) {}

  rect(x: number, y: number, width: number, height: number, fill: string, alpha = 1): void {
    const see = alpha === 1 ? "" : ` fill-opacity="${round(alpha)}"`;
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${fill}"${see}/>`);
  }

  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width = 1, dash: number[] = []): void {
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    this.parts.push(`<path d="M${round(x1)} ${round(y1)}L${round(x2)} ${round(y2)}" stroke="${stroke}" stroke-width="${width}"${dashes}/>`);
  }

  area(points: number[], base: number, fill: string, alpha = 1): void {
    if (points.length < 4) return;
    const first = `${round(points[0]!)} ${round(base)}`;
    const last = `${round(points[points.length - 2]!)} ${round(base)}`;
    this.parts.push(`<path d="M${first}L${pairs(points)}L${last}Z" fill="${fill}" fill-opacity="${round(alpha)}"/>`);
  }

  path(points: number[], stroke: string, width = 1, alpha = 1): void {
    if (points.length < 4) return;
    this.parts.push(`<path d="M${pairs(points)}" fill="none" stroke="${stroke}" stroke-width="${width}" stroke-opacity="${round(alpha)}"/>`);
  }

  text(words: string, x: number, y: number, fill: string, font: string, align: Align = "left"): void {
    const anchor = align === "left" ? "start" : align === "right" ? "end" : "middle";
    this.parts.push(`<text x="${round(x)}" y="${round(y)}" fill="${fill}" style="font:${font.replace(/"/g, "'")}" text-anchor="${anchor}" dominant-baseline="central">${escaped(words)}</text>`);
  }

  width(words: string, font: string): number {
    return measured(words, font);
  }

  clip(x: number, y: number, width: number, height: number, inside: () => void): void {
    const name = `c${this.clips++}`;
    this.parts.push(`<clipPath id="${name}"><rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"/></clipPath><g clip-path="url(#${name})">`);
    inside();
    this.parts.push("</g>");
  }

  file(): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.wide}" height="${this.high}" viewBox="0 0 ${this.wide} ${this.high}">\n${this.parts.join("\n")}\n</svg>\n`;
  }
}

const round = (v: number): number => Math.round(v * 100) / 100;

function pairs(points: number[]): string {
  const out: string[] = [];
  for (let i = 0; i < points.length; i += 2) out.push(`${round(points[i]!)} ${round(points[i + 1]!)}`);
  return out.join("L");
}
