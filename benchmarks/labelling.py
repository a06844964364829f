"""Measures many people who label at once, through a real gunicorn over loopback.

    python benchmarks/labelling.py [--clients 16] [--seconds 10] [--samples 20000] [--json]

Each client is another person, who requests the next sample and judges it; clients run in another process. Rows:
verdicts through the JSON endpoint, through the page as its script sends them, both by one person alone, and eight
people labelling without and with an export beside them. `server_ms` is the processor time of the server for each
verdict, which other programs on the machine hardly change. Afterwards the store is read: a verdict that was answered
and is missing is lost, a sample with two verdicts was given to two people.
"""

import argparse
import gzip
import http.client
import json
import re
import sqlite3
import statistics
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

from site_server import SiteServer

PREPARE = """
import json
from agents import services
from datasets.models import DatasetSample
from people.accounts import services as accounts, tokens as accounts_tokens
services.register("main")
words = "The import stopped at line 12 because the header was missing. " * 12
for number in range(samples // 1000):
    DatasetSample.objects.bulk_create(
        DatasetSample(
            id=f"{number * 1000 + n:08}", sample_type="annotated_turn", agent_id="main", turn_number=n,
            session_id=f"session-{n % 50}", turn_id=f"t{n}", created_at=1_700_000_000_000 + number * 1000 + n,
            annotation_status="approved" if number % 2 else "pending",
            content=json.dumps({"type": "annotated_turn", "conversationId": f"session-{n % 50}", "turnNumber": n,
                                "context": [{"role": "user", "message": words}, {"role": "agent", "message": words}],
                                "userMessage": "What went wrong?", "agentReply": words}),
        )
        for n in range(1000)
    )
tokens, links = [], []
for number in range(people):
    user, link = accounts.add_user(f"person{number}", "labeller")
    tokens.append(accounts_tokens.make_token(user, name="bench", role="labeller")[1])
    links.append(link)
print("PREPARED", json.dumps([tokens, links]))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--samples", type=int, default=20_000, help="every second thousand is approved already")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home, Site(home, options) as site:
        rows = [
            site.measure("verdicts, JSON", Program, options.clients),
            site.measure("verdicts, page", Reader, options.clients),
            site.measure("one person, JSON", Program, 1),
            site.measure("one person, page", Reader, 1),
            *measure_beside_export(site),
        ]
    print(json.dumps(rows, indent=1) if options.json else table(rows))


class Site(SiteServer):
    """A served home with samples and people."""

    def __init__(self, home, options):
        super().__init__(home, OPENCLAW_WEB_LOG_LEVEL="WARNING", OPENCLAW_WEB_API_PER_MINUTE="1000000")
        self.seconds = options.seconds
        self.home = Path(home)
        numbers = f"people, samples = {options.clients}, {options.samples}\n"
        self.tokens, self.links = json.loads(self.prepare(numbers + PREPARE))
        self.sessions = {}

    def query(self, sql):
        with closing(sqlite3.connect(self.home / "state" / "openclaw.sqlite")) as db:
            return db.execute(sql).fetchall()

    def measure(self, name, person, clients, *, beside=None):
        """Let `clients` people label for a while; return the figures."""
        before = self.query("SELECT count(*) FROM sample_labels")[0][0]
        people = [person(self, number) for number in range(clients)]
        started, processor = time.perf_counter(), self.read_processor_ms()
        threads = [threading.Thread(target=labeller.work, args=(started + self.seconds,)) for labeller in people]
        for thread in threads:
            thread.start()
        if beside:
            beside()
        for thread in threads:
            thread.join()
        spent, processor = time.perf_counter() - started, self.read_processor_ms() - processor
        times = sorted(took for labeller in people for took in labeller.times)
        stored = self.query("SELECT count(*) FROM sample_labels")[0][0] - before
        doubled = self.query(
            "SELECT count(*) FROM (SELECT sample_id FROM sample_labels GROUP BY sample_id HAVING count(*) > 1)"
        )
        return {
            "row": name,
            "per_second": round(len(times) / spent),
            "p50_ms": round(statistics.median(times) * 1000, 1),
            "p95_ms": round(times[len(times) * 95 // 100] * 1000, 1),
            "p99_ms": round(times[len(times) * 99 // 100] * 1000, 1),
            "server_ms": round(processor / len(times), 1),
            "errors": sum(labeller.errors for labeller in people),
            "lost": len(times) - stored,
            "doubled": doubled[0][0],
        }


class Person:
    """A client with its own connection, and the time of each verdict."""

    def __init__(self, site, number):
        self.site, self.number = site, number
        self.times, self.errors = [], 0
        self.connection = http.client.HTTPConnection(*site.address)
        self.headers = {}

    def ask(self, method, path, body=None, headers=None):
        """Send a request; return the response and its body."""
        self.connection.request(method, path, body, {**self.headers, **(headers or {})})
        response = self.connection.getresponse()
        return response, response.read()

    def work(self, until):
        self.connection.close()  # the server may have closed it while the others were prepared
        while time.perf_counter() < until and self.judge():
            pass
        self.connection.close()


class Program(Person):
    """A script with a token: the answer to each verdict has the next sample."""

    def __init__(self, site, number):
        super().__init__(site, number)
        self.headers = {"Authorization": f"Bearer {site.tokens[number]}", "Content-Type": "application/json"}
        self.sample = json.loads(self.ask("GET", "/api/v1/review/next")[1])["sample"]

    def judge(self):
        if self.sample is None:
            return False
        body = {"sample_id": self.sample["id"], "status": "approved", "expected_status": "pending"}
        started = time.perf_counter()
        response, answer = self.ask("POST", "/api/v1/review/verdict", json.dumps(body))
        if response.status != 200:
            self.errors += 1
            return False
        self.times.append(time.perf_counter() - started)
        self.sample = json.loads(answer)["sample"]
        return True


class Reader(Person):
    """A browser at the page: a verdict names the shown sample and fetches one more."""

    def __init__(self, site, number):
        super().__init__(site, number)
        self.cookies = {}
        link = site.links[number]
        if link not in site.sessions:
            self.browse("POST", link, {"csrfmiddlewaretoken": self.token(self.browse("GET", link))})
            site.sessions[link] = self.cookies
        self.cookies = dict(site.sessions[link])
        page = self.browse("GET", "/review/")
        self.csrf, self.shown = self.token(page), self.find_sample(page)
        self.ahead = self.find_sample(self.browse("GET", f"/review/?after={self.shown}&ahead=1"))

    def browse(self, method, path, form=None):
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        headers |= {"Content-Type": "application/x-www-form-urlencoded", "Accept-Encoding": "gzip"} if form else {}
        headers |= {"HX-Request": "true"} if form or "ahead" in path else {}
        self.response, page = self.ask(method, path, urlencode(form) if form else None, headers)
        for cookie in self.response.headers.get_all("Set-Cookie", []):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return gzip.decompress(page).decode() if self.response.headers["Content-Encoding"] == "gzip" else page.decode()

    @staticmethod
    def token(page):
        return re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)[1]

    @staticmethod
    def find_sample(page):
        match = re.search(r'data-sample="([^"]*)"', page)
        return match[1] if match else ""

    def judge(self):
        if not self.shown:
            return False
        form = {"csrfmiddlewaretoken": self.csrf, "sample": self.shown, "status": "approved"}
        form |= {"expected_status": "pending", "ahead": self.ahead}
        started = time.perf_counter()
        page = self.browse("POST", "/review/label/", form)
        if self.response.status != 200:
            self.errors += 1
            return False
        self.times.append(time.perf_counter() - started)
        self.shown, self.ahead = self.ahead, self.find_sample(page)
        return True


def measure_beside_export(site):
    """Eight people label, first alone, then beside exports of approved samples."""
    alone = site.measure("8 people label", Program, 8)
    ended = threading.Event()

    def export():
        number = 0
        until = time.perf_counter() + site.seconds
        while time.perf_counter() < until:
            number += 1
            site.run("export", "--format", "sharegpt", "--name", f"bench {number}", "--quiet")
        ended.set()

    beside = site.measure("8 people label while exports run", Program, 8, beside=export)
    assert ended.is_set()
    beside["p95_ratio"] = round(beside["p95_ms"] / alone["p95_ms"], 2)
    return [alone, beside]


def table(rows):
    """The figures as Markdown."""
    names = ["row", "per_second", "p50_ms", "p95_ms", "p99_ms", "server_ms", "errors", "lost", "doubled", "p95_ratio"]
    lines = [[str(row.get(name, "")) for name in names] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [names, ["---"] * len(names), *lines])


if __name__ == "__main__":
    main()
