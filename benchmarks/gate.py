"""Measures pages of gate decisions against the page floor, and how fast decisions are stored.

    python benchmarks/gate.py [--rows 1000000] [--rounds 100] [--runs 3] [--clients 8] [--seconds 10] [--json]
                              [--only pages|record] [--pages ADDRESS ...] [--profile ADDRESS]

Pages: an agent with --rows decisions and one with 10,000; each page is requested of both, growth is the ratio of the
two. Recording: a real gunicorn that has --rows decisions at first, clients in this process over loopback, one decision
in a request and then a hundred. Afterwards the store is read: a decision that was answered and is missing is lost; one
that is stored twice, or counted twice in the sums, is doubled. Figures are medians of --runs.
"""

import argparse
import http.client
import json
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import pages
from site_server import SiteServer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
SMALL = 10_000
BATCH = 100
BARS = {"one at a time": 150, f"in batches of {BATCH}": 2_000}
SINGLE = {
    "decision": "decision=UPDATE_USER",
    "rare decision": "decision=UPDATE_SOUL",
    "session": "session=00000007",
    "model": "model=gate-next",
    "prompt": "prompt=prompt-3",
    "slow": "slow=on",
    "unseen": "unseen=on",
    "unmatched": "unmatched=on",
    "origin": "origin=own",
    "judged wrong": "verdict=wrong",
    "judged": "verdict=judged",
    "not judged": "verdict=unjudged",
    "words": "q=likes+tea",
    "no such words": "q=nowhere",
}
SEARCHED = {"words", "no such words", "origin"}  # without an index of their own
OF_CALLS = {"calls": "", "calls, failed": "outcome=failed", "calls, malformed": "outcome=malformed"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", choices=("pages", "record"))
    parser.add_argument("--pages", nargs="*", metavar="ADDRESS", help="below /agents/<agent>/gate/, instead of all")
    parser.add_argument("--profile", metavar="ADDRESS", help="print where the time of one page goes instead")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = {}
    if options.only != "record":
        with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
            figures["pages"] = measure_pages(home, options)
    if options.only != "pages" and not options.profile:
        with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home, Site(home, options) as site:
            figures["record"] = measure_recording(site, options)
    print(json.dumps(figures, indent=1) if options.json else "\n\n".join(map(table, figures.values())))


def measure_pages(home, options):
    """The figures of every page, and its growth."""
    pages.start(home)
    days = fill("small", SMALL)
    fill("big", options.rows)
    addresses = options.pages if options.pages is not None else None
    client = pages.signed_in()
    if options.profile:
        pages.profile(client, f"/agents/big/gate/{options.profile}", options.rounds)
        return []
    addresses_by_name = {"floor": ("/floor/", None), "agents": ("/agents/", None)}
    for agent in ("middle", "big"):
        owner = "small" if agent == "middle" else agent
        # First another page: the first request about an agent opens its file.
        addresses_by_name[f"{agent}: sessions, first"] = (f"/agents/{owner}/sessions/", None)
        named_addresses = {name: (name, "detail") for name in addresses} if addresses is not None else list_pages(days)
        root = f"/agents/{owner}/gate/"
        addresses_by_name |= {
            f"{agent}: {name}": (root + address, kind) for name, (address, kind) in named_addresses.items()
        }
    there = {name: page for name, page in addresses_by_name.items() if client.get(page[0]).status_code != 404}
    rows = pages.median_of([pages.measure(client, there, options.rounds) for _ in range(options.runs)])
    missing = [
        {"page": f"{name}: not there", "ms": None, "ratio": ""}
        for name in sorted(addresses_by_name.keys() - there.keys())
    ]
    own = ("floor", "agents", "middle: sessions", "big: sessions", "growth, sessions", f"{pages.AGENTS} agents")
    return [rows[0], *(row for row in rows if not row["page"].startswith(own)), *missing]


def fill(agent_id, count):
    """Make an agent with `count` decisions; return a query for two days of them."""
    from agents import services
    from benchmarks import bulk_rows, gate_rows
    from gate.statistics import sums
    from gate.statistics.sums import DAY_MS, date_of
    from openclaw_web import clock

    db = services.register(agent_id).db
    bulk_rows.fill_sessions(db, count // 10)
    bulk_rows.fill_agent(db, min(count, 100_000))
    start = clock.now_ms() - gate_rows.WEEKS_MS
    gate_rows.fill_gate(db, count, start=start)
    started = time.perf_counter()
    sums.rebuild(db)
    gate_rows.fill_verdicts(db)
    print(f"sums of {count:,} decisions made in {time.perf_counter() - started:.1f} s", file=sys.stderr)
    bulk_rows.checkpoint_wal(db)
    middle = start + gate_rows.WEEKS_MS // 2
    return f"from={date_of(middle)}&to={date_of(middle + DAY_MS)}"


def list_pages(days):
    """{name: (address, bar)} of every page of decisions.

    Each filter is measured alone, with days and with a session.
    """
    listed = {"decisions": ("", "list"), "of two days": (f"?{days}", "list")}
    for name, query in SINGLE.items():
        kind = "search" if name in SEARCHED else "list"
        listed[name] = (f"?{query}", kind)
        listed[f"{name}, two days"] = (f"?{query}&{days}", "search")
        if name != "session":
            listed[f"{name}, a session"] = (f"?{query}&session=00000007", "search")
    listed |= {name: (f"calls/?{query}", "list") for name, query in OF_CALLS.items()}
    for by in ("day", "week", "session", "model", "prompt"):
        listed[f"statistics by {by}"] = (f"statistics/?by={by}", "detail")
    return listed


PREPARE = """
import json
from benchmarks import bulk_rows, gate_rows
from agents import services
from gate.statistics import sums
from openclaw_web import clock
from people.accounts import services as accounts, tokens as accounts_tokens
db = services.register("main").db
bulk_rows.fill_sessions(db, 10_000)
bulk_rows.fill_agent(db, 100_000)
gate_rows.fill_gate(db, rows, start=clock.now_ms() - gate_rows.WEEKS_MS)
sums.rebuild(db)
bulk_rows.checkpoint_wal(db)
user, _link = accounts.add_user("otto", "operator")
made = [accounts_tokens.make_token(user, name=str(n), role="operator")[1] for n in range(people)]
print("PREPARED", json.dumps(made))
"""


# Sums of many decisions are only marked as stale by those who report them; the end of an import computes them.
COMPUTE = """
from agents import services
from gate.statistics import sums
while sums.run_step(services.get_alias("main")):
    pass
print("PREPARED", "")
"""


class Site(SiteServer):
    """A served home with decisions, and tokens for programs that report more."""

    def __init__(self, home, options):
        super().__init__(home, OPENCLAW_WEB_LOG_LEVEL="WARNING", OPENCLAW_WEB_API_PER_MINUTE="1000000")
        self.file = Path(home) / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
        numbers = f"people, rows = {options.clients}, {options.rows}\n"
        self.tokens = json.loads(self.prepare(numbers + PREPARE))
        self.told = 0

    def read_value(self, sql):
        with closing(sqlite3.connect(self.file)) as db:
            return db.execute(sql).fetchone()[0]


class Plugin:
    """A client that reports decisions, one request after the other, on its own connection."""

    def __init__(self, site, number, run, size):
        self.site, self.name, self.size = site, f"{run}-{number}", size
        self.times, self.errors, self.answered, self.number = [], [], 0, number
        self.headers = {"Authorization": f"Bearer {site.tokens[number]}", "Content-Type": "application/json"}

    def work(self, until):
        connection = http.client.HTTPConnection(*self.site.address)
        count = 0
        while time.perf_counter() < until:
            body = json.dumps({"decisions": [self.decision(count + n) for n in range(self.size)]})
            started = time.perf_counter()
            connection.request("POST", "/api/v1/agents/main/gate/decisions", body, self.headers)
            response = connection.getresponse()
            answer = response.read()
            if response.status == 201:
                self.times.append(time.perf_counter() - started)
                self.answered += self.size
            else:
                self.errors.append((response.status, answer[:200]))
            count += self.size
        connection.close()

    def decision(self, n):
        turn = (n + self.number * 12_347) % 100_000
        is_kept = n % 4 == 0
        return {
            "id": f"{self.name}-{n}",
            "turn_id": f"{turn // 10:08}:r{turn}",
            "session_id": f"{turn // 10:08}",
            "decision": "UPDATE_USER" if is_kept else "NO_WRITE",
            "reason": f"The user likes tea, as in line {n}.",
            "candidate_fact": "The user likes tea." if is_kept else None,
            "llm_model": "gate-small",
            "prompt_version": "prompt-6",
            "llm_latency_ms": 200 + n % 900,
            "prompt_tokens": 400,
            "completion_tokens": 30,
            "cost_usd": 0.0004,
            "raw_response": '{"decision": "UPDATE_USER", "reason": "The user likes tea."}',
            "created_at": round(time.time() * 1000),
        }


def measure_recording(site, options):
    """Decisions stored in a second, one at a time and in batches, and the losses."""
    figures = []
    for row, size in (("one at a time", 1), (f"in batches of {BATCH}", BATCH)):
        runs = [record(site, options, f"{size}-{run}", size) for run in range(options.runs)]
        middle = {name: statistics.median(run[name] for run in runs) for name in ("a second", "p50 ms", "p95 ms")}
        sums = {name: sum(run[name] for run in runs) for name in ("errors", "lost", "doubled")}
        figures.append({"row": row, **middle, **sums, "bar": BARS[row]})
    return figures


def record(site, options, run, size):
    """Let several clients report decisions for a while; return the figures."""
    ids, total = "SELECT COUNT(*) FROM memory_gate_decisions", "SELECT SUM(total) FROM gate_hours"
    before, counted = site.read_value(ids), site.read_value(total)
    plugins = [Plugin(site, number, run, size) for number in range(options.clients)]
    started = time.perf_counter()
    threads = [threading.Thread(target=plugin.work, args=(started + options.seconds,)) for plugin in plugins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - started
    site.prepare(COMPUTE)
    answered = sum(plugin.answered for plugin in plugins)
    errors = [error for plugin in plugins for error in plugin.errors]
    for error in errors[:3]:
        print(error, file=sys.stderr)
    times = sorted(took for plugin in plugins for took in plugin.times) or [0]
    stored, more = site.read_value(ids) - before, site.read_value(total) - counted
    return {
        "a second": round(answered / spent),
        "p50 ms": round(statistics.median(times) * 1000, 1),
        "p95 ms": round(times[len(times) * 95 // 100] * 1000, 1),
        "errors": len(errors),
        "lost": max(0, answered - stored),
        "doubled": max(0, stored - answered) + abs(more - stored),
    }


def table(rows):
    """The figures beside their bars, as Markdown."""
    names = list(rows[0])
    lines = [[str("" if row.get(name) is None else row[name]) for name in names] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [names, ["---"] * len(names), *lines])


if __name__ == "__main__":
    main()
