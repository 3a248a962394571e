// The view as a picture in a file.

import type { App } from "./app";
import { drawScene } from "./draw";
import { CanvasPainter, SvgPainter } from "./painter";

const DENSE = 2;

export async function pngOf(app: App): Promise<Blob> {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [app.width * DENSE, app.height * DENSE];
  const context = canvas.getContext("2d")!;
  context.scale(DENSE, DENSE);
  drawScene(new CanvasPainter(context), app);
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("the browser made no picture"))), "image/png"));
}

export function svgOf(app: App): Blob {
  const painter = new SvgPainter(app.width, app.height);
  drawScene(painter, app);
  return new Blob([painter.file()], { type: "image/svg+xml" });
}

export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
