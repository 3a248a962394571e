// The sheet of keys and gestures.

import { byId, el, fill } from "./dom";
import { FIELDS } from "./query";

const SHEET: [string, [string[], string][]][] = [
  ["Move", [
    [["wheel"], "zoom at the pointer"],
    [["Shift", "wheel"], "pan"],
    [["drag"], "pan"],
    [["Shift", "drag"], "zoom into a range; also on the ruler"],
    [["double click"], "zoom to a box"],
    [["+", "−"], "zoom (or W, S)"],
    [["←", "→"], "pan (or A, D)"],
    [["↑", "↓"], "scroll; wheel over the names too"],
    [["0"], "the whole run"],
    [["F"], "the selected box"],
    [["U", "R"], "undo, redo (or Ctrl Z, Ctrl Y)"],
  ]],
  ["Look", [
    [["click"], "everything about a box"],
    [["click"], "a lane's name folds it"],
    [["C"], "critical path of the selected task"],
    [["O", "L", "I"], "run, lines, findings"],
    [["Esc"], "select nothing"],
    [["T"], "light or dark"],
    [["E"], "export PNG or SVG"],
    [["?"], "this sheet"],
  ]],
  ["Search", [
    [["/"], "search"],
    [["N", "P"], "next and previous match"],
    ...Object.entries(FIELDS).map(([field, about]): [string[], string] => [[`${field}:`], about]),
  ]],
];

export function toggleHelp(): void {
  const help = byId("help");
  if (!help.hidden) return void (help.hidden = true);
  const columns = SHEET.map(([title, rows]) => el("div", {}, el("h3", {}, title), el("dl", {}, ...rows.flatMap(([keys, about]) => [
    el("dt", {}, ...keys.flatMap((key, i) => [i ? " " : "", el("kbd", {}, key)])), el("dd", {}, about)]))));
  fill(help, el("div", { class: "sheet" }, el("h2", {}, "Keys and gestures"), el("div", { class: "columns" }, ...columns)));
  help.hidden = false;
  const close = (): void => {
    help.hidden = true;
    window.removeEventListener("keydown", close, true);
  };
  help.onclick = close;
  window.addEventListener("keydown", close, true);
}
