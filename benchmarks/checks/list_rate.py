"""Measures eight clients that load list pages through a real gunicorn, beside Datasette on the same tables.

    python benchmarks/checks/list_rate.py [--rows 100000] [--clients 8] [--seconds 10] [--datasette PROGRAM]

PROGRAM is the command `datasette` of an environment of its own; without it only this site is measured. Its pages are
measured as they are, and again without counts, facets and suggestions. Pages a second depend on what else runs;
`processor` is the time of the server's processes for each page.
"""

import argparse
import http.client
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from site_server import SiteServer

PORT = 18_041
PREPARE = """
from agents import services
from benchmarks import bulk_rows, gate_rows
from django.contrib.auth import get_user_model
from django.test import Client
from openclaw_web import clock
db = services.register("main").db
bulk_rows.fill_sessions(db, rows)
gate_rows.fill_gate(db, rows, start=clock.now_ms() - gate_rows.WEEKS_MS)
bulk_rows.checkpoint_wal(db)
client = Client(headers={"host": "127.0.0.1"})
user = get_user_model().objects.create(username="bench", role="admin")
client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
print("PREPARED", "; ".join(f"{name}={cookie.value}" for name, cookie in client.cookies.items()))
"""
PLAIN = "&_nocount=1&_nofacet=1&_nosuggest=1"
PAGES = {
    "sessions": ("/agents/main/sessions/", "sessions?_size=50&_sort_desc=last_activity_at"),
    "decisions": ("/agents/main/gate/", "memory_gate_decisions?_size=50&_sort_desc=created_at"),
}


class Datasette(SiteServer):
    """Datasette on the file of the agent."""

    def __init__(self, program, file):
        self.command, self.address = [program, "serve", str(file), "-p", str(PORT)], ("127.0.0.1", PORT)

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(5)
        return self


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000, help="sessions, and decisions")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--datasette", metavar="PROGRAM")
    options = parser.parse_args()
    print("| page | server | pages a second | p50 | processor | errors |\n| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
        site = SiteServer(home, OPENCLAW_WEB_LOG_LEVEL="WARNING")
        cookie = site.prepare(f"rows = {options.rows}\n{PREPARE}").strip()
        with site:
            # The second process starts when the first one is busy.
            measure("sessions", "this site", site, "/agents/main/sessions/", options, {"Cookie": cookie})
            for name, (path, _table) in PAGES.items():
                print(measure(name, "this site", site, path, options, {"Cookie": cookie}), flush=True)
        if options.datasette:
            file = Path(home, "agents", "main", "agent", "openclaw-agent.sqlite")
            with Datasette(options.datasette, file) as peer:
                for name, (_path, table) in PAGES.items():
                    for server, more in (("Datasette", ""), ("Datasette, rows alone", PLAIN)):
                        print(measure(name, server, peer, f"/{file.stem}/{table}{more}", options, {}), flush=True)


def measure(name, server, site, path, options, headers):
    """Let the clients load one page for a while; return a row of the table."""
    times, errors = [], []

    def work(until):
        connection = http.client.HTTPConnection(*site.address)
        while time.perf_counter() < until:
            started = time.perf_counter()
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            response.read()
            (times if response.status == 200 else errors).append(time.perf_counter() - started)
        connection.close()

    before, started = site.read_processor_ms(), time.perf_counter()
    threads = [threading.Thread(target=work, args=(started + options.seconds,)) for _ in range(options.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent, processor = time.perf_counter() - started, site.read_processor_ms() - before
    middle = statistics.median(times or [0]) * 1000
    rate, each = len(times) / spent, processor / max(1, len(times))
    return f"| {name} | {server} | {rate:.1f} | {middle:.0f} ms | {each:.1f} ms | {len(errors)} |"


if __name__ == "__main__":
    main()
