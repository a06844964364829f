"""Measures the bytes of each page for a browser, on first and later visits.

    python benchmarks/page_weight.py [--json]

A real `serve` has demonstration data in a temporary home; Chromium counts the bytes from the network, compressed,
headers included (CDP, encodedDataLength). Bars: first visit 50 kB, later pages 40 kB.
"""

import argparse
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
BARS = {"first": 50, "later": 40}
PAGES = [
    "/agents/",
    "/agents/main/sessions/",
    "/agents/main/turns/",
    "/agents/main/events/",
    "/agents/main/files/",
    "/agents/main/cron/",
    "/agents/main/subagents/",
    "/agents/main/background/",
    "/agents/main/stored/",
    "/agents/main/artifacts/",
    "/agents/main/savings/",
    "/agents/main/lint/",
    "/samples/",
    "/review/",
    "/exports/",
    "/account/",
    "/operations/jobs/",
    "/operations/rejected/",
    "/operations/artifacts/",
    "/operations/backups/",
    "/operations/retention/",
    "/operations/doctor/",
    "/operations/users/",
    "/operations/tokens/",
    "/operations/audit/",
    "/operations/settings/",
]
# Detail pages, opened by the first link of this kind on a list.
THROUGH = {
    "/agents/main/sessions/?sort=-turns": r"^/agents/main/sessions/[^/?]+/$",
    "/samples/": r"^/samples/(?!bulk)[^/]+/$",
    "/agents/main/files/": r"/files/[^/]+/$",
    "/agents/main/cron/": r"/cron/[^/]+/$",
    "/exports/": r"^/exports/[^/?]+/$",
    "/operations/jobs/": r"^/operations/jobs/[^/?]+/$",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    from tests.processes import Home

    with tempfile.TemporaryDirectory(prefix="openclaw-web-weight-") as folder, sync_playwright() as playwright:
        home = Home(Path(folder) / "home")
        home.env["OPENCLAW_STATE_DIR"] = f"{folder}/openclaw"
        try:
            demo = home.start("demo", "--no-serve")
            assert demo.end() == 0, demo.said
            link = re.search(r"http://[^/]+(/welcome/\S+)", demo.said)[1]
            chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            rows = measure(chromium, home.serve("--no-watch").address(), link)
        finally:
            home.close()
    print(json.dumps(rows, indent=1) if options.json else table(rows))
    sys.exit(any(row["kB"] > row["bar"] for row in rows))


def measure(chromium, address, link):
    """Every page with its weight, the first visit first."""
    page = chromium.new_context().new_page()
    wire = Wire(page)
    rows = [wire.row("first visit: signing in", address + link, "first")]
    page.locator("main form button").first.click()
    page.wait_for_load_state("networkidle")
    rows.append(wire.row("first visit: overview", address, "first"))
    rows[-1]["kB"] = round(rows[-1]["kB"] + rows[0]["kB"], 1)
    rows += [wire.row(path, address + path, "later") for path in PAGES]
    for path, kind in THROUGH.items():
        page.goto(address + path)
        links = page.locator("main a[href]").evaluate_all("all => all.map((link) => new URL(link.href).pathname)")
        detail_path = next((href for href in links if re.search(kind, href)), None)
        assert detail_path, f"nothing on {path} leads to {kind}: {links}"
        rows.append(wire.row(f"one of {path}", address + detail_path, "later"))
    return rows


class Wire:
    """Counts the bytes that a page of Chromium gets from the network, not from its cache."""

    def __init__(self, page):
        self.page, self.bytes = page, 0
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", self._count)

    def _count(self, event):
        self.bytes += event["encodedDataLength"]

    def row(self, name, url, kind):
        self.bytes = 0
        self.page.goto(url, wait_until="networkidle")
        return {"page": name, "kB": round(self.bytes / 1000, 1), "bar": BARS[kind]}


def table(rows):
    body = [f"| {row['page']} | {row['kB']} | {row['bar']} |" for row in rows]
    return "\n".join(["| page | kB on the wire | bar |", "| --- | --- | --- |", *body])


if __name__ == "__main__":
    main()
