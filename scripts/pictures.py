"""Take pictures of two reports: the first screen, a trial and the charts over scale factors.

usage: python scripts/pictures.py DEMO_REPORT SWEEP_REPORT DIRECTORY
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright


def take(demo: Path, sweep: Path, directory: Path) -> None:
    """Write report.png, trial.png and scales.png.

    Args:
        demo: The demo's report, which has a trial of the script `flaky` on question 4.
        sweep: The report of several scale factors.
        directory: Where to write.
    """
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        sys.exit("no Chromium on PATH: apt-get install chromium")
    trial = f"#trial=flaky%7C{demo.resolve().parent.name}%7C4%7C0"
    pictures = (("report", demo, "", 900), ("trial", demo, trial, 1340))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=("--no-sandbox",))
        for name, report, link, height in (*pictures, ("scales", sweep, "#by-scale", 1110)):
            page = browser.new_page(viewport={"width": 1280, "height": height})
            page.goto(report.resolve().as_uri() + link)
            page.wait_for_selector("dialog[data-shown]" if "trial=" in link else "[data-ready]")
            page.screenshot(path=directory / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    take(*map(Path, sys.argv[1:]))
