"""Measures page times during many downloads, through a real gunicorn over loopback.

    python benchmarks/downloads.py [--rows 200000] [--downloads 16] [--readers 2] [--seconds 15] [--json]

Clients run in another process: first readers alone, then beside programs that download all records of an agent again
and again. A program that is told to retry later does so after a second. Errors are answers that are neither 200 nor,
for downloads, 503.
"""

import argparse
import http.client
import json
import re
import statistics
import tempfile
import threading
import time

from site_server import SiteServer

BAR = 2
PAGES = ("/agents/big/sessions/", "/agents/big/turns/?errors=on", "/agents/big/events/", "/samples/")
RECORDS = "/api/v1/agents/big/events?format=jsonl&include_payload=true"
PREPARE = """
from agents import services
from benchmarks import bulk_rows
from people.accounts import services as accounts, tokens
db = services.register("big").db
bulk_rows.fill_sessions(db, rows)
bulk_rows.fill_agent(db, rows)
bulk_rows.checkpoint_wal(db)
people = [accounts.add_user(f"reader{number}", "viewer") for number in range(readers)]
token = tokens.make_token(people[0][0], name="bench", role="viewer")[1]
print("PREPARED", token, *(link for _user, link in people))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--downloads", type=int, default=16)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home, Site(home, options) as site:
        alone = site.measure("pages alone", 0)
        beside = site.measure(f"pages beside {options.downloads} downloads", options.downloads)
    beside |= {"ratio": round(beside["p95_ms"] / alone["p95_ms"], 2), "bar": BAR}
    print(json.dumps([alone, beside], indent=1) if options.json else table([alone, beside]))


class Site(SiteServer):
    """A served home with an agent that has many records."""

    def __init__(self, home, options):
        super().__init__(home, OPENCLAW_WEB_LOG_LEVEL="ERROR", OPENCLAW_WEB_API_PER_MINUTE="0")
        self.options = options
        numbers = f"rows, readers = {options.rows}, {options.readers}\n"
        self.token, *self.links = self.prepare(numbers + PREPARE).split()

    def __enter__(self):
        super().__enter__()
        self.cookies = [sign_in(self.address, link) for link in self.links]
        return self

    def measure(self, name, downloads):
        """Run readers and downloading programs for a while; return the figures."""
        until = time.perf_counter() + self.options.seconds
        readers = [Reader(self.address, cookie) for cookie in self.cookies]
        loaders = [Loader(self.address, self.token) for _ in range(downloads)]
        threads = [threading.Thread(target=client.work, args=(until,)) for client in (*loaders, *readers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        times = sorted(took for reader in readers for took in reader.times)
        return {
            "row": name,
            "pages": len(times),
            "p50_ms": round(statistics.median(times) * 1000, 1),
            "p95_ms": round(times[len(times) * 95 // 100] * 1000, 1),
            "errors": sum(client.errors for client in (*readers, *loaders)),
            "refused": sum(client.refused for client in loaders),
            "mb": round(sum(client.bytes for client in loaders) / 1e6, 1),
        }


class Reader:
    """A client that opens one page after the other, with the time of each."""

    def __init__(self, address, cookie):
        self.address, self.headers = address, {"Cookie": cookie}
        self.times, self.errors = [], 0

    def work(self, until):
        connection = http.client.HTTPConnection(*self.address)
        while time.perf_counter() < until:
            for page in PAGES:
                started = time.perf_counter()
                connection.request("GET", page, headers=self.headers)
                response = connection.getresponse()
                response.read()
                self.errors += response.status != 200
                self.times.append(time.perf_counter() - started)


class Loader:
    """A client that downloads all records again and again."""

    def __init__(self, address, token):
        self.address, self.headers = address, {"Authorization": f"Bearer {token}"}
        self.bytes = self.refused = self.errors = 0

    def work(self, until):
        while time.perf_counter() < until:
            connection = http.client.HTTPConnection(*self.address)
            connection.request("GET", RECORDS, headers=self.headers)
            response = connection.getresponse()
            while time.perf_counter() < until and (part := response.read(65_536)):
                self.bytes += len(part)
            connection.close()
            if response.status == 503:
                self.refused += 1
                time.sleep(1)
            self.errors += response.status not in (200, 503)


def sign_in(address, link):
    """Open a one-time link; return the cookie of the signed-in browser."""
    connection = http.client.HTTPConnection(*address)
    path = re.sub(r"^https?://[^/]+", "", link)
    connection.request("GET", path)
    response = connection.getresponse()
    page, cookies = response.read().decode(), read_cookies(response)
    field = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)[1]
    kinds = {"Cookie": "; ".join(cookies), "Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", path, f"csrfmiddlewaretoken={field}", kinds)
    response = connection.getresponse()
    response.read()
    return "; ".join([*cookies, *read_cookies(response)])


def read_cookies(response):
    return [value.partition(";")[0] for name, value in response.getheaders() if name.lower() == "set-cookie"]


def table(rows):
    """The figures as Markdown."""
    names = ("row", "pages", "p50_ms", "p95_ms", "ratio", "bar", "errors", "refused", "mb")
    lines = ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]
    return "\n".join([*lines, *("| " + " | ".join(str(row.get(name, "")) for name in names) + " |" for row in rows)])


if __name__ == "__main__":
    main()
