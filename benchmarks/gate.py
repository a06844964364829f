"""Decisions of memory_gate: their pages against the page floor, and how fast they are recorded.

    python benchmarks/gate.py [--rows 1000000] [--rounds 100] [--runs 3] [--clients 8] [--seconds 10] [--json]
                              [--only pages|record] [--pages ADDRESS ...] [--profile ADDRESS]

Pages: an agent with --rows decisions and one with 10,000; each page is asked for of both, growth is the ratio of the
two. Recording: a real gunicorn with --rows decisions before it begins, clients in this process over loopback, one
decision in a request and then a hundred. Afterwards the store is read: a decision that was answered and is not there is
lost; one that is there twice, or counted twice in the sums, is doubled. Figures are medians of --runs.
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
from served import Served

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
    found = {}
    if options.only != "record":
        with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
            found["pages"] = of_pages(home, options)
    if options.only != "pages" and not options.profile:
        with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home, Site(home, options) as site:
            found["record"] = of_recording(site, options)
    print(json.dumps(found, indent=1) if options.json else "\n\n".join(map(table, found.values())))


def of_pages(home, options):
    """The figures of every page, and how it grows."""
    pages.start(home)
    days = fill("small", SMALL)
    fill("big", options.rows)
    addresses = options.pages if options.pages is not None else None
    client = pages.signed_in()
    if options.profile:
        pages.profile(client, f"/agents/big/gate/{options.profile}", options.rounds)
        return []
    asked = {"floor": ("/floor/", None), "agents": ("/agents/", None)}
    for agent in ("middle", "big"):
        owner = "small" if agent == "middle" else agent
        # First another page: whoever goes from one agent to the next opens its file.
        asked[f"{agent}: sessions, first"] = (f"/agents/{owner}/sessions/", None)
        some = {name: (name, "detail") for name in addresses} if addresses is not None else known(days)
        root = f"/agents/{owner}/gate/"
        asked |= {f"{agent}: {name}": (root + address, kind) for name, (address, kind) in some.items()}
    there = {name: page for name, page in asked.items() if client.get(page[0]).status_code != 404}
    rows = pages.median_of([pages.measure(client, there, options.rounds) for _ in range(options.runs)])
    left = [{"page": f"{name}: not there", "ms": None, "ratio": ""} for name in sorted(asked.keys() - there.keys())]
    own = ("floor", "agents", "middle: sessions", "big: sessions", "growth, sessions", f"{pages.AGENTS} agents")
    return [rows[0], *(row for row in rows if not row["page"].startswith(own)), *left]


def fill(agent_id, count):
    """An agent with `count` decisions; two days of them as they stand in an address."""
    from agents import services
    from benchmarks import bulk_rows, gate_rows
    from gate.statistics import sums
    from gate.statistics.sum_changes import DAY_MS
    from gate.statistics.sum_tables import date_of
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


def known(days):
    """Address and bar of every page of decisions: of every filter alone, and with days and with a session."""
    found = {"decisions": ("", "list"), "of two days": (f"?{days}", "list")}
    for name, query in SINGLE.items():
        kind = "search" if name in SEARCHED else "list"
        found[name] = (f"?{query}", kind)
        found[f"{name}, two days"] = (f"?{query}&{days}", "search")
        if name != "session":
            found[f"{name}, a session"] = (f"?{query}&session=00000007", "search")
    found |= {name: (f"calls/?{query}", "list") for name, query in OF_CALLS.items()}
    for by in ("day", "week", "session", "model", "prompt"):
        found[f"statistics by {by}"] = (f"statistics/?by={by}", "detail")
    return found


PREPARE = """
import json
from benchmarks import gate_rows, many_rows
from agents import services
from gate.statistics import sums
from openclaw_web import clock
from people.accounts import services as accounts, tokens as accounts_tokens
db = services.register("main").db
many_rows.fill_sessions(db, 10_000)
many_rows.fill_agent(db, 100_000)
gate_rows.fill_gate(db, rows, start=clock.now_ms() - gate_rows.WEEKS_MS)
sums.rebuild(db)
many_rows.settle(db)
user, _link = accounts.add_user("otto", "operator")
made = [accounts_tokens.make_token(user, name=str(n), role="operator")[1] for n in range(people)]
print("PREPARED", json.dumps(made))
"""


class Site(Served):
    """A served home with decisions, and tokens of programs that tell of more."""

    def __init__(self, home, options):
        super().__init__(home, OPENCLAW_WEB_LOG_LEVEL="WARNING", OPENCLAW_WEB_API_PER_MINUTE="1000000")
        self.file = Path(home) / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
        numbers = f"people, rows = {options.clients}, {options.rows}\n"
        self.tokens = json.loads(self.prepare(numbers + PREPARE))
        self.told = 0

    def one(self, sql):
        with closing(sqlite3.connect(self.file)) as db:
            return db.execute(sql).fetchone()[0]


class Plugin:
    """A program that tells of decisions, one request after the other, on a connection of its own."""

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


def of_recording(site, options):
    """Decisions a second, one at a time and in batches, and what became of them."""
    found = []
    for row, size in (("one at a time", 1), (f"in batches of {BATCH}", BATCH)):
        runs = [record(site, options, f"{size}-{run}", size) for run in range(options.runs)]
        middle = {name: statistics.median(run[name] for run in runs) for name in ("a second", "p50 ms", "p95 ms")}
        sums = {name: sum(run[name] for run in runs) for name in ("errors", "lost", "doubled")}
        found.append({"row": row, **middle, **sums, "bar": BARS[row]})
    return found


def record(site, options, run, size):
    """Let several programs tell of decisions for a while."""
    ids, total = "SELECT COUNT(*) FROM memory_gate_decisions", "SELECT SUM(total) FROM gate_hours"
    before, counted = site.one(ids), site.one(total)
    plugins = [Plugin(site, number, run, size) for number in range(options.clients)]
    started = time.perf_counter()
    threads = [threading.Thread(target=one.work, args=(started + options.seconds,)) for one in plugins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - started
    answered = sum(one.answered for one in plugins)
    errors = [error for one in plugins for error in one.errors]
    for error in errors[:3]:
        print(error, file=sys.stderr)
    times = sorted(took for one in plugins for took in one.times) or [0]
    stored, more = site.one(ids) - before, site.one(total) - counted
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
