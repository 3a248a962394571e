// Everything a picture is drawn from, and where things are on it.

import type { Palette, Theme } from "./colour";
import type { Matches } from "./query";
import type { Rank } from "./rank";
import type { Row } from "./rows";
import type { Session } from "./session";
import type { View } from "./view";

export const GUTTER = 226;
export const OVERVIEW = 46;
export const RULER = 26;
export const TOP = OVERVIEW + RULER;

export interface Scene {
  session: Session;
  view: View;
  rows: Row[];
  theme: Theme;
  palette: Palette;
  matches: Map<Rank, Matches> | null;
  width: number;
  height: number;
}

/** Pixels for a nanosecond. */
export const scaleOf = (scene: Scene): number => (scene.width - GUTTER) / scene.view.span;
export const xOf = (scene: Scene, time: number): number => GUTTER + (time - scene.view.from) * scaleOf(scene);
export const timeAt = (scene: Scene, x: number): number => scene.view.from + (x - GUTTER) / scaleOf(scene);
export const topOf = (scene: Scene, row: Row): number => TOP + row.y - scene.view.scroll;
