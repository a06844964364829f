"""Measures the episodic ledger: appends against their floor, requests, pages, verification, and streams.

    python benchmarks/writes/episodes.py [--rows 1000000] [--events 100000] [--runs 3] [--clients 8] [--seconds 10]
        [--only append|command|pages|verify|record|stream ...] [--profile append|verify] [--json]

Appends: --events events in batches of 1,000, in processor time; the floor inserts the same rows, with salts and hashes
that were computed before, by executemany into the same table without its triggers. The command is `episodes ingest`
of a file in a process of its own, with its start. Pages and verification: a ledger of --rows events, and pages also of
one with a hundredth. Recording: a real gunicorn, clients in this process, one event in a request; afterwards the ledger
is verified. Stream: all events of a scope as JSON lines, with the memory that the processes of the site take more.
"""

import argparse
import cProfile
import http.client
import json
import os
import pstats
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]  # the app of this name before this program
import pages  # noqa: E402
from site_server import SiteServer  # noqa: E402

BATCH = 1_000
PARTS = ("append", "command", "pages", "verify", "record", "stream")
BARS = {"append": 4, "record": 150, "verify": 40, "stream": 5}
SMALLER = 100  # the other ledger of the pages is this much smaller
SESSIONS, SCOPES = 500, 5
TYPES = ("conversation.user", "conversation.assistant", "tool.call", "tool.result", "ops.decision")
START_MS, STEP_MS = 1_750_000_000_000, 1_000
PAGES = {
    "a scope": ("scope=scope-1", "list"),
    "a session": ("scope=scope-1&session=session-1", "list"),
    "a type": ("scope=scope-1&type=tool.call", "list"),
    "words that occur": ("scope=scope-1&q=tea", "search"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--profile", choices=("append", "verify"), help="print where the time goes instead")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
        rows = measure_here(home, options)
    if {"record", "stream"} & set(options.only) and not options.profile:
        with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home, Site(home, options) as site:
            rows += measure_site(site, options)
    print(json.dumps(rows, indent=1) if options.json else table(rows))


def measure_here(home, options):
    """The figures of this process and of commands that it starts."""
    pages.start(home)
    if options.profile:
        profile(options)
        return []
    rows = []
    if {"append", "command"} & set(options.only):
        rows += measure_appends(Path(home), options)
    if {"pages", "verify"} & set(options.only):
        fill("big", options.rows)
        rows += measure_pages(options) if "pages" in options.only else []
        rows += [measure_verification(options)] if "verify" in options.only else []
    return rows


def build_values(number):
    """The values of an event, as programs report them."""
    return {
        "event_id": f"event-{number}",
        "ts_ms": START_MS + number * STEP_MS,
        "type": TYPES[number % len(TYPES)],
        "scope": f"scope-{number % SCOPES}",
        "session_id": f"session-{number // SCOPES % SESSIONS}",
        "agent_id": "main",
        "summary": f"The user likes tea of the kind number {number}, as they said in the afternoon.",
        "payload": {"text": f"line {number}: " + "the user likes tea. " * 12, "number": number},
        "refs": {"record": f"r{number}"},
    }


def build_events(first, count):
    from episodes.events import Limits, build_event

    limits = {name: Limits(allows_tool_output=name.startswith("tool.")) for name in TYPES}
    values = map(build_values, range(first, first + count))
    return [build_event(**event_values, limits=limits[event_values["type"]]) for event_values in values]


def register(agent_id):
    """Create an agent; returns the alias of its file."""
    from agents import services

    return services.register(agent_id).db


def fill(agent_id, count):
    """Append events to an agent's ledger; returns the alias of its file."""
    from benchmarks import bulk_rows
    from episodes.append import append

    db = register(agent_id)
    for first in range(0, count, BATCH):
        append(db, build_events(first, min(BATCH, count - first)))
    bulk_rows.checkpoint_wal(db)
    return db


def measure_appends(home, options):
    """Processor seconds of appends by service and by command, and their floor."""
    figures = {"floor": [], "append, checked before": [], "append with its checks": [], "episodes ingest": []}
    for run in range(options.runs):
        rows = None
        if "append" in options.only or run == 0:
            register(f"service-{run}")
            figures["append with its checks"].append(time_processor(fill, f"service-{run}", options.events))
            rows = read_rows(f"service-{run}")
        events = [build_events(first, BATCH) for first in range(0, options.events, BATCH)]
        register(f"checked-{run}")
        figures["append, checked before"].append(time_processor(append_batches, f"checked-{run}", events))
        figures["floor"].append(
            time_processor(insert_rows, create_unprotected(f"floor-{run}"), rows or read_rows("service-0"))
        )
        if "command" in options.only:
            figures["episodes ingest"].append(ingest(home, run, options.events))
    floor = statistics.median(figures.pop("floor"))
    table_rows = [{"row": f"floor: {options.events:,} rows by executemany", "figure": f"{floor:.2f} s"}]
    for name, times in figures.items():
        if times:
            spent = statistics.median(times)
            ratio = {"figure": f"{spent:.2f} s", "ratio": round(spent / floor, 2), "bar": BARS["append"]}
            table_rows.append({"row": name} | ratio)
    return table_rows


def time_processor(work, *args):
    started = time.process_time()
    work(*args)
    return time.process_time() - started


def append_batches(agent_id, batches):
    from episodes.append import append

    db = register(agent_id)
    for events in batches:
        append(db, events)


def create_unprotected(agent_id):
    """Create an agent's file whose ledger has no triggers; returns its alias."""
    from episodes.chain import triggers
    from openclaw_web.sqlite import statements

    db = register(agent_id)
    for name in triggers.TRIGGERS:
        statements.run(db, f"DROP TRIGGER {name}")
    return db


def read_rows(agent_id):
    from agents import databases
    from episodes.append import COLUMNS

    with closing(sqlite3.connect(databases.get_path(agent_id))) as db:
        return db.execute(f"SELECT {', '.join(COLUMNS)} FROM episodic_events ORDER BY id").fetchall()


def insert_rows(db, rows):
    from django.db import connections, transaction

    from episodes.append import INSERT

    sql = INSERT.replace("%s", "?")
    for first in range(0, len(rows), BATCH):
        with transaction.atomic(using=db):
            connections[db].connection.executemany(sql, rows[first : first + BATCH])


def ingest(home, run, count):
    """Processor seconds of a command that stores a file of events."""
    file, env = home / f"spool-{run}.jsonl", os.environ | {"OPENCLAW_STATE_DIR": str(home / "none")}
    with file.open("w") as lines:
        for number in range(count):
            print(json.dumps(build_values(number) | {"event_id": f"{run}-{number}"}), file=lines)
    command = [sys.executable, "-m", "openclaw_web", "episodes", "ingest", "--file", str(file), "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_pages(options):
    """Pages of 50 events of a big and a small ledger, against the page floor."""
    fill("small", options.rows // SMALLER)
    addresses = {"floor": ("/floor/", None), "big: sessions, first": ("/agents/big/sessions/", None)}
    for agent, owner in (("middle", "small"), ("big", "big")):
        root = f"/agents/{owner}/episodes/scope/"
        addresses |= {f"{agent}: {name}": (f"{root}?{query}", kind) for name, (query, kind) in PAGES.items()}
    addresses["middle: sessions, first"] = ("/agents/small/sessions/", None)
    client = pages.signed_in()
    runs = [pages.measure(client, addresses, options.rounds) for _ in range(options.runs)]
    own = ("middle: sessions", "big: sessions", "growth, sessions")
    rows = [row for row in pages.median_of(runs) if not row["page"].startswith(own)]
    return [
        {"row": f"page, {row['page']}", "figure": f"{row['ms']} ms" if row["ms"] else "", "ratio": row["ratio"]}
        | ({"bar": row["bar"]} if row["bar"] else {})
        for row in rows
    ]


def measure_verification(options):
    from episodes.chain import verification

    times = []
    for _run in range(options.runs):
        started = time.perf_counter()
        result = verification.verify("agent_big")
        times.append(time.perf_counter() - started)
        assert result.is_unchanged and result.events == options.rows, result
    spent = statistics.median(times)
    return {"row": f"verification of {options.rows:,} events", "figure": f"{spent:.1f} s", "bar": f"{BARS['verify']} s"}


def profile(options):
    """Print where the time of appends or of a verification goes."""
    from episodes.chain import verification

    recorder = cProfile.Profile()
    if options.profile == "append":
        recorder.runcall(fill, "profiled", options.events)
    else:
        recorder.runcall(verification.verify, fill("profiled", options.events))
    pstats.Stats(recorder).sort_stats("tottime").print_stats(25)


PREPARE = """
import json
import sys
sys.path.append("benchmarks")
from benchmarks.writes import episodes
from people.accounts import services as accounts, tokens as accounts_tokens
episodes.fill("main", rows)
user, _link = accounts.add_user("otto", "operator")
made = [accounts_tokens.make_token(user, name=str(n), role="operator")[1] for n in range(people)]
print("PREPARED", json.dumps(made))
"""
VERIFY = """
from agents import databases
from episodes.chain import verification
print("PREPARED", verification.verify(databases.get_alias("main")).is_unchanged)
"""


class Site(SiteServer):
    """A served home with a ledger, and tokens for programs that append to it."""

    def __init__(self, home, options):
        super().__init__(home, OPENCLAW_WEB_LOG_LEVEL="WARNING", OPENCLAW_WEB_API_PER_MINUTE="1000000")
        self.tokens = json.loads(self.prepare(f"people, rows = {options.clients}, {options.events}\n" + PREPARE))

    def read_memory(self):
        """Megabytes that all processes of the site take together (PSS)."""
        sizes = [read_pss(pid) for pid in (self.process.pid, *list_descendants(self.process.pid))]
        return sum(sizes) / 1024


def list_descendants(pid):
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield int(child)
        yield from list_descendants(child)


def read_pss(pid):
    """Kilobytes of a process; 0 for one that has ended."""
    try:
        return int(re.search(r"^Pss: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)[1])
    except OSError:
        return 0


def measure_site(site, options):
    rows = []
    if "stream" in options.only:
        rows.append(measure_stream(site, options))
    if "record" in options.only:
        runs = [record(site, options, run) for run in range(options.runs)]
        rate = statistics.median(run["a second"] for run in runs)
        p95 = statistics.median(run["p95 ms"] for run in runs)
        errors = sum(run["errors"] for run in runs)
        is_whole = site.prepare(VERIFY).strip()
        name = f"appends in a second, {options.clients} programs, one event in a request"
        more = f"p95 {p95} ms, errors {errors}, verified {is_whole}"
        rows.append({"row": name, "figure": f"{rate} ({more})", "bar": BARS["record"]})
    return rows


class Program:
    """A client that appends events, one in a request, on its own connection."""

    def __init__(self, site, number, run):
        self.site, self.name, self.times, self.errors = site, f"{run}-{number}", [], []
        self.headers = {"Authorization": f"Bearer {site.tokens[number]}", "Content-Type": "application/json"}

    def work(self, until):
        connection, count = http.client.HTTPConnection(*self.site.address), 0
        while time.perf_counter() < until:
            values = build_values(count) | {"event_id": f"{self.name}-{count}", "type": "ops.decision"}
            started = time.perf_counter()
            connection.request("POST", "/api/v1/agents/main/episodes", json.dumps(values), self.headers)
            response = connection.getresponse()
            answer = response.read()
            if response.status == 201:
                self.times.append(time.perf_counter() - started)
            else:
                self.errors.append((response.status, answer[:300]))
            count += 1
        connection.close()


def record(site, options, run):
    """Let several programs append for a while; return the figures."""
    programs = [Program(site, number, run) for number in range(options.clients)]
    started = time.perf_counter()
    threads = [threading.Thread(target=program.work, args=(started + options.seconds,)) for program in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - started
    errors = [error for program in programs for error in program.errors]
    for error in errors[:3]:
        print(error, file=sys.stderr)
    times = sorted(took for program in programs for took in program.times) or [0]
    p95 = round(times[len(times) * 95 // 100] * 1000, 1)
    return {"a second": round(len(times) / spent), "p95 ms": p95, "errors": len(errors)}


def measure_stream(site, options):
    """The additional memory of the site while a scope is read as JSON lines."""
    before, readings = site.read_memory(), []
    connection = http.client.HTTPConnection(*site.address)
    headers = {"Authorization": f"Bearer {site.tokens[0]}"}
    address = "/api/v1/agents/main/episodes?scope=scope-1&format=jsonl&include_payload=true"
    connection.request("GET", address, headers=headers)
    response = connection.getresponse()
    assert response.status == 200, response.read()
    total = -(-options.events // SCOPES)
    count = 0
    for count, _line in enumerate(response, 1):
        if count % (total // 10) == 0:
            readings.append(site.read_memory())
    connection.close()
    assert count == total, count
    first, rest = readings[0] - before, max(readings) - readings[0]
    name = f"memory while {count:,} events are streamed: with the first tenth, and with all others more"
    return {"row": name, "figure": f"{first:.1f} MB, {rest:.1f} MB", "bar": f"{BARS['stream']} MB for the others"}


def table(rows):
    """The figures beside their bars, as Markdown."""
    names = ("row", "figure", "ratio", "bar")
    lines = [[str(row.get(name, "")) for name in names] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [names, ["---"] * len(names), *lines])


if __name__ == "__main__":
    main()
