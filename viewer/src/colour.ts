// Colours of both themes. Every operation keeps one hue; its three shades differ in lightness and
// chroma only, so that running, ready and blocked are told apart without reading a legend.

export type ThemeName = "light" | "dark";

export interface Theme {
  name: ThemeName;
  page: string;
  surface: string;
  band: string;
  line: string;
  ink: string;
  soft: string;
  faint: string;
  accent: string;
  accentWash: string;
  merged: string;
  mark: string;
  onBox: string;
  shades: [Shade, Shade, Shade];
  area: Shade;
}

interface Shade {
  lightness: number;
  chroma: number;
}

export const THEMES: Record<ThemeName, Theme> = {
  light: {
    name: "light",
    page: "#f6f6f4", surface: "#ffffff", band: "#fafaf8", line: "#e6e5e1", ink: "#22252b", soft: "#646a75",
    faint: "#9aa0aa", accent: "#4353c9", accentWash: "#eceefb", merged: "#8b919c", mark: "#c2410c", onBox: "#ffffff",
    shades: [{ lightness: 0.6, chroma: 0.12 }, { lightness: 0.8, chroma: 0.075 }, { lightness: 0.915, chroma: 0.033 }],
    area: { lightness: 0.78, chroma: 0.07 },
  },
  dark: {
    name: "dark",
    page: "#121417", surface: "#191c21", band: "#1d2026", line: "#2b2f37", ink: "#e7e9ec", soft: "#9aa2ae",
    faint: "#6a727e", accent: "#9aa5ff", accentWash: "#262b47", merged: "#7d8592", mark: "#fb923c", onBox: "#0e1013",
    shades: [{ lightness: 0.73, chroma: 0.115 }, { lightness: 0.5, chroma: 0.075 }, { lightness: 0.345, chroma: 0.038 }],
    area: { lightness: 0.52, chroma: 0.075 },
  },
};

export const RUNNING = 0;
export const READY = 1;
export const BLOCKED = 2;

/** The OKLCH colour as #rrggbb: canvas and SVG then agree in every program that opens the export. */
export function oklch(lightness: number, chroma: number, hue: number): string {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return "#" + linear.map((v) => {
    const x = Math.min(1, Math.max(0, v));
    const coded = x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055;
    return Math.round(coded * 255).toString(16).padStart(2, "0");
  }).join("");
}

/** Hues in the order they are given out: neighbours in the list lie far apart on the circle. */
const HUES = [262, 158, 48, 340, 205, 98, 22, 300, 130, 232, 72, 320, 182, 5, 280, 115];

const QUIET_LIFT = 0.04;

/** Three shades of one hue for every name, the names with most time first. */
export class Palette {
  private readonly shades: string[][] = [];
  private readonly areas = new Map<number, string>();

  /** `quiet`: a name that is often the longest and never the interesting one. */
  constructor(readonly theme: Theme, order: number[], names: number, quiet: number) {
    const grey = theme.shades.map((s) => oklch(s.lightness, 0.012, 265));
    for (let i = 0; i < names; i++) this.shades.push(grey);
    order = order.filter((name) => name !== quiet);
    for (let rank = 0; rank < order.length; rank++) {
      // Past one turn the hues repeat, a little shifted and less strong, still stable.
      const turn = Math.floor(rank / HUES.length);
      const hue = HUES[rank % HUES.length]! + turn * 11;
      const strength = 1 / (1 + 0.25 * Math.min(turn, 3));
      this.shades[order[rank]!] = theme.shades.map((s) => oklch(s.lightness, s.chroma * strength, hue));
    }
    if (quiet >= 0) this.shades[quiet] = theme.shades.map((s) => oklch(s.lightness + QUIET_LIFT, s.chroma * 0.3, 75));
  }

  of(name: number, shade: number): string {
    return this.shades[name]![shade]!;
  }

  area(hue: number): string {
    let made = this.areas.get(hue);
    if (!made) this.areas.set(hue, (made = oklch(this.theme.area.lightness, this.theme.area.chroma, hue)));
    return made;
  }
}
