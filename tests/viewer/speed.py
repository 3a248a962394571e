"""How long the viewer takes to open ten million events, and how many frames a second it then moves at.

    python -m tests.viewer.speed [--spans 4700000] [--repeat 3]

A file with 4.7 million boxes has 10 million rows: boxes, tasks, edges and levels.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import os
import tempfile
import threading
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.viewer import files
from tests.viewer.giant import giant
from tests.viewer.page import MARK, PAGE, chromium

FRAMES = 150
# Moves the view once a frame and waits until it is drawn; gives frames a second and the drawing's share of them.
MOVE = """async ([way, frames]) => {
  const a = window.numloom, end = a.session.end;
  const steps = { zoom: (i) => a.view.zoom(i % 60 < 30 ? 0.75 : 1 / 0.75, end * 0.37), pan: () => a.view.pan(a.view.span * 0.01) };
  const [drawn, spent, begun] = [a.drawn.frames, a.drawn.time, performance.now()];
  for (let i = 0; i < frames; i++) { steps[way](i); await new Promise(requestAnimationFrame); }
  return { fps: (a.drawn.frames - drawn) / (performance.now() - begun) * 1000, ms: (a.drawn.time - spent) / (a.drawn.frames - drawn) };
}"""  # noqa: E501


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


def measure(browser: Browser, url: str) -> dict[str, float]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    begun = time.perf_counter()
    page.goto(url)
    page.wait_for_function("window.numloom && window.numloom.drawn.frames > 0", timeout=120_000, polling=20)
    found = {"open": time.perf_counter() - begun}
    page.wait_for_timeout(1500)
    for way in ("zoom", "pan"):
        moved = page.evaluate(MOVE, [way, FRAMES])
        found |= {f"{way} fps": moved["fps"], f"{way} ms a frame": moved["ms"]}
    page.close()
    return found


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--spans", type=int, default=4_700_000)
    words.add_argument("--repeat", type=int, default=3)
    asked = words.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = giant(asked.spans)
        rows = sum(len(next(iter(columns.values()))) for columns in tables.values())
        path = files.write(folder / "giant.nlprof", tables)
        print(f"{rows / 1e6:.1f} million rows, {len(tables['spans']['ran']) / 1e6:.1f} million of them boxes,", end=" ")
        print(f"{path.stat().st_size / 2**20:.0f} MiB; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        del tables
        (folder / "index.html").write_text(PAGE.read_text().replace(MARK, "<script data-served></script>"))
        (folder / "files.json").write_text(json.dumps([path.name]))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=name))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium())
            for _ in range(asked.repeat):
                found = measure(browser, f"http://127.0.0.1:{server.server_port}/index.html")
                print("  ".join(f"{key} {value:.2f}" for key, value in found.items()))
            browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
