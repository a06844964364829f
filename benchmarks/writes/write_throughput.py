"""Measures how fast writes with both versions of their file are stored.

They are sent over HTTP, or stored by processes that call the service. Clients of one *chain* continue from one state of
a file, whoever wrote it; clients with a *state of their own* contradict each other, so each write reveals a change that
nobody reported. The floor inserts the same rows with SQL.
"""

import hashlib
import http.client
import json
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

from benchmarks.site_server import ROOT, SiteServer

BAR = 100
LINE = "{n:06}: the user likes tea of the kind number {n} in the afternoon.\n"
WRITES = "SELECT COUNT(*) FROM write_guardian_audit WHERE origin = 'recorded'"
FOUND = "SELECT COUNT(*) FROM write_guardian_audit WHERE origin = 'unattributed'"
PREPARE = """
import json
from agents import services
from benchmarks.writes import rows as write_rows
from people.accounts import services as accounts, tokens as accounts_tokens
write_rows.fill(services.register("main").db, rows, snapshots, 5_000)
for number in range(people):
    services.register(f"agent-{number}")
user, _link = accounts.add_user("otto", "operator")
made = [accounts_tokens.make_token(user, name=str(n), role="operator")[1] for n in range(people)]
print("PREPARED", json.dumps(made))
"""
WORK = "from benchmarks.writes import write_throughput; write_throughput.work({agent!r}, {name!r}, {length}, {seconds})"


class Site(SiteServer):
    """A served home with writes, and tokens for programs that report more."""

    def __init__(self, home, options):
        super().__init__(home, OPENCLAW_WEB_LOG_LEVEL="WARNING", OPENCLAW_WEB_API_PER_MINUTE="1000000")
        self.agents = Path(home) / "agents"
        numbers = f"people, rows, snapshots = {options.clients}, {options.rows}, {options.snapshots // 10}\n"
        self.tokens = json.loads(self.prepare(numbers + PREPARE))

    def count(self, sql, agents):
        """The sum of a counting query over the files of agents."""
        return sum(self._read_value(sql, agent) for agent in set(agents))

    def _read_value(self, sql, agent):
        with closing(sqlite3.connect(self.agents / agent / "agent" / "openclaw-agent.sqlite")) as db:
            return db.execute(sql).fetchone()[0]


class State:
    """The content of a file; each write replaces one line. Clients may share it."""

    def __init__(self, name, length):
        self.name, self.count, self.at = name, 0, 0
        self.lines = [LINE.format(n=n) for n in range(length // len(LINE.format(n=0)))]
        self.lock = threading.Lock()

    def next(self, teller):
        """The next write, as the API receives it."""
        with self.lock:
            before = "".join(self.lines)
            self.count += 1
            fact = f"{self.name}, write {self.count}"
            self.lines[self.count * 7 % len(self.lines)] = f"- {fact}, of {teller}\n"
            self.at = max(self.at + 2, round(time.time() * 1000))
            after, at, number = "".join(self.lines), self.at, self.count
        about = {"id": f"{self.name}-{number}", "session_id": "agent:main:direct:1", "created_at": at}
        about |= {"target_file": "MEMORY.md", "candidate_fact": fact, "status": "written", "llm_model": "small"}
        return about | {"reason": "It is worth keeping.", "before": before, "after": after}


class Plugin:
    """A client that reports writes, one request after the other, on its own connection."""

    def __init__(self, site, number, agent, state):
        self.site, self.agent, self.state, self.number = site, agent, state, number
        self.times, self.errors = [], []
        self.headers = {"Authorization": f"Bearer {site.tokens[number]}", "Content-Type": "application/json"}

    def work(self, until):
        connection = http.client.HTTPConnection(*self.site.address)
        while time.perf_counter() < until:
            body = json.dumps({"writes": [self.state.next(self.number)]})
            started = time.perf_counter()
            connection.request("POST", f"/api/v1/agents/{self.agent}/guardian/writes", body, self.headers)
            response = connection.getresponse()
            answer = response.read()
            if response.status == 201:
                self.times.append(time.perf_counter() - started)
            else:
                self.errors.append((response.status, answer[:200]))
        connection.close()


def run_over_http(site, options, run, *, length, ways):
    """Run all clients once; `ways` has the agent and the state of each."""
    states = {}
    plugins = []
    for number, (agent, name) in enumerate(ways):
        state = states.setdefault(name, State(f"{run}-{name}", length))
        plugins.append(Plugin(site, number, agent, state))
    started = time.perf_counter()
    threads = [threading.Thread(target=plugin.work, args=(started + options.seconds,)) for plugin in plugins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times, errors = ([each for plugin in plugins for each in getattr(plugin, name)] for name in ("times", "errors"))
    return time.perf_counter() - started, times, errors


def run_by_processes(site, options, run, *, length, ways):
    """The same with processes that call the service; each has its own state."""
    processes = []
    for agent, name in ways:
        program = WORK.format(agent=agent, name=f"{run}-{name}", length=length, seconds=options.seconds)
        command = [sys.executable, "-m", "openclaw_web", "shell", "--no-imports", "-c", program]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        processes.append(subprocess.Popen(command, cwd=ROOT, env=site.env, **pipes))
    for process in processes:
        while "READY" not in process.stdout.readline():
            pass
    started = time.perf_counter()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    results = [json.loads(process.communicate()[0].partition("DONE ")[2]) for process in processes]
    times, errors = ([each for process in results for each in process[name]] for name in ("times", "errors"))
    return max(time.perf_counter() - started, options.seconds), times, errors


def work(agent_id, name, length, seconds):
    """Store writes in one of these processes, after it gets a line of input."""
    from agents.models import Agent
    from guardian.recording import api_import
    from guardian.recording.schemas import WriteIn
    from openclaw_web.errors import Refused

    agent, state, times, errors = Agent.objects.get(agent_id=agent_id), State(name, length), [], []
    print("READY", flush=True)
    sys.stdin.readline()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        write = WriteIn(**state.next(name))
        started = time.perf_counter()
        try:
            api_import.record_reports(agent, [write], by="otto")
            times.append(time.perf_counter() - started)
        except Refused as refused:
            errors.append(str(refused))
    print("DONE", json.dumps({"times": times, "errors": errors}), flush=True)


def list_ways(options):
    """{name: (function, (agent, state) of each client)}."""
    everyone = range(options.clients)
    alone = [("main", f"own-{number}") for number in everyone]
    apart = [(f"agent-{number}", f"own-{number}") for number in everyone]
    return {
        "HTTP, one client": (run_over_http, alone[:1]),
        "HTTP, one chain": (run_over_http, [("main", "chain")] * options.clients),
        "HTTP, states of their own": (run_over_http, alone),
        "HTTP, agents of their own": (run_over_http, apart),
        "processes, states of their own": (run_by_processes, alone),
        "processes, agents of their own": (run_by_processes, apart),
    }


def measure_throughput(site, options):
    """Stored writes in a second, for every way and length of a file, and the losses."""
    rows = []
    for length in options.bytes:
        rows.append(measure_floor(site, options, length))
        for name, (tell, each) in list_ways(options).items():
            if options.way and options.way not in name:
                continue
            runs = [
                measure_run(site, options, f"{length}-{len(rows)}-{run}", tell=tell, length=length, ways=each)
                for run in range(options.runs)
            ]
            medians = ("a second", "p50 ms", "p95 ms")
            middle = {key: round(statistics.median(run[key] for run in runs), 1) for key in medians}
            sums = {key: sum(run[key] for run in runs) for key in ("errors", "lost", "doubled", "found")}
            ratio = round(rows[0]["a second"] / max(middle["a second"], 1), 1)
            rows.append({"row": f"{name}, {length:,} bytes", **middle, "floor/it": ratio, **sums, "bar": BAR})
    return rows


def measure_run(site, options, run, *, tell, length, ways):
    """Run the clients once; return the figures and what is in the files afterwards."""
    agents = [agent for agent, _name in ways]
    before, before_unattributed = site.count(WRITES, agents), site.count(FOUND, agents)
    spent, times, errors = tell(site, options, run, length=length, ways=ways)
    for error in errors[:3]:
        print(error, file=sys.stderr)
    stored, sorted_times = site.count(WRITES, agents) - before, sorted(times) or [0]
    return {
        "a second": round(len(times) / spent, 1),
        "p50 ms": round(statistics.median(sorted_times) * 1000, 1),
        "p95 ms": round(sorted_times[len(sorted_times) * 95 // 100] * 1000, 1),
        "errors": len(errors),
        "lost": max(0, len(times) - stored),
        "doubled": max(0, stored - len(times)),
        "found": site.count(FOUND, agents) - before_unattributed,
    }


def measure_floor(site, options, length):
    """Transactions in a second of one connection that inserts the same rows by SQL.

    All texts are stored unpacked.
    """
    state, run = State("floor", length), []
    for number in range(options.runs):
        file = site.agents / f"floor-{length}-{number}.sqlite"
        with closing(sqlite3.connect(file, isolation_level=None)) as db:
            _create_tables(site, db)
            run.append(_insert_writes(db, state, number, options.seconds / 2))
        for database_file in file.parent.glob(f"{file.name}*"):
            database_file.unlink()
    return {
        "row": f"floor: the rows by SQL, one connection, {length:,} bytes",
        "a second": round(statistics.median(run), 1),
        **dict.fromkeys(("p50 ms", "p95 ms", "floor/it", "errors", "lost", "doubled", "found", "bar")),
    }


def _create_tables(site, db):
    """Create the empty tables and indexes of a write."""
    tables = ("write_guardian_audit", "file_snapshots", "guardian_statuses", "guardian_receipts")
    with closing(sqlite3.connect(site.agents / "main" / "agent" / "openclaw-agent.sqlite")) as other:
        listed = "SELECT sql FROM sqlite_master WHERE sql NOT NULL AND tbl_name IN (?, ?, ?, ?) ORDER BY type DESC"
        made = [row[0] for row in other.execute(listed, tables)]
    db.executescript("PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;" + ";".join(made))


def _insert_writes(db, state, run, seconds):
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        write, at = state.next("floor"), time.time_ns()
        name, sides = f"{run}-{write['id']}", []
        db.execute("BEGIN IMMEDIATE")
        for text in (write["before"], write["after"]):
            digest = hashlib.sha256(text.encode()).hexdigest()
            sides.append(f"MEMORY.md@{digest[:32]}@{at}")
            about = (sides[-1], text, digest, write["created_at"], len(text), "MEMORY.md")
            insert = (
                "INSERT INTO file_snapshots (id, content, content_hash, created_at, size_bytes, file_name, is_lossy)"
            )
            db.execute(f"{insert} VALUES (?, ?, ?, ?, ?, ?, 0)", about)
        about = (name, *sides, write["candidate_fact"], write["candidate_fact"] * 4, write["created_at"], "[]")
        db.execute(
            "INSERT INTO write_guardian_audit (id, before_snapshot_id, after_snapshot_id, candidate_fact, diff,"
            " created_at, hunks_json, session_id, target_file, status, origin, match, sources, is_diff_shared)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, 's', 'MEMORY.md', 'written', 'recorded', 'none', 1, 0)",
            about,
        )
        about = (name, write["created_at"])
        insert = "INSERT INTO guardian_statuses (audit_id, created_at, status, given_by, reason)"
        db.execute(f"{insert} VALUES (?, ?, 'written', 'otto', '')", about)
        db.execute("INSERT INTO guardian_receipts (id, audit_id, body_sha256) VALUES (?, ?, '')", (name, name))
        db.execute("COMMIT")
        count += 1
    return count / seconds
