"""Makes long files with many writes, for pages of writes and files, and for blame.

The writes are recorded as a plugin reports them, so their diffs and hunks are the product's.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
AGENT = "files"
FAR, NEAR, HUNDRED = "SOUL.md", "USER.md", 200
WIDE = 200_000  # characters of a file
START_MS = 60 * 86_400_000  # before now
BEGUN = "begun.md"
WORDS = ("tea", "coffee", "water", "milk", "juice", "soup", "cocoa")
ASK = "from benchmarks.writes import files; files.ask_once({address!r})"


def line(number, verb="likes"):
    """A line like those of memory files."""
    return f"- {number:05}: the user {verb} {WORDS[number % 7]} with {WORDS[number * 3 % 7]} in the afternoon.\n"


def fill(home, writes):
    """Make an agent with a workspace, two large changes and `writes` writes to MEMORY.md.

    Returns the milliseconds of making the diffs of the large changes, by name.
    """
    from agents import services
    from openclaw_web import clock

    agent = services.register(AGENT)
    start = clock.now_ms() - START_MS
    lines = [line(n) for n in range(WIDE // len(line(0)))]
    changed = [line(n, "does not like") if n % (len(lines) // HUNDRED) == 3 else old for n, old in enumerate(lines)]
    other = [line(n, "never asked for") for n in range(len(lines))]
    seconds = {
        "200 changed lines": _record_write(agent.db, "near", NEAR, "".join(lines), "".join(changed), start),
        "no common line": _record_write(agent.db, "far", FAR, "".join(lines), "".join(other), start),
    }
    now = _fill_history(agent.db, writes, start)
    _create_workspace(home, agent, {NEAR: "".join(changed), FAR: "".join(other), "MEMORY.md": now})
    return seconds


def _record_write(db, name, file, before, after, at):
    """Record a write; return the milliseconds of making its diff."""
    from guardian.changes import compute_change
    from guardian.models import WriteGuardianAudit
    from guardian.recording import write_store
    from guardian.recording.reports import FileChange, Report, Source

    about = {"session_id": "s", "target_file": file, "candidate_fact": f"Likes tea, {name}.", "status": "written"}
    row = WriteGuardianAudit(id=name, created_at=at, **about)
    change = FileChange(None if before is None else before.encode(), after.encode())
    write_store.store_reports(db, [Report(row, Source.API, change, body_sha256=name, reporter="plugin")])
    started = time.perf_counter()
    compute_change(change.before, change.after, file)
    return (time.perf_counter() - started) * 1000


def _fill_history(db, writes, start):
    """Record writes that each add and change a line; return the last content.

    They are ten minutes apart.
    """
    lines = [line(n) for n in range(200)]
    before = "".join(lines)
    for number in range(writes):
        lines[number * 7919 % len(lines)] = line(number, "no longer likes")
        lines.insert(number * 31 % len(lines), line(number, "since then likes"))
        after = "".join(lines)
        _record_write(db, f"w{number}", "MEMORY.md", before, after, start + number * 600_000)
        before = after
    return before


def _create_workspace(home, agent, contents):
    """Create a workspace with these files, so that rollbacks can be previewed."""
    from agents.models import CollectorSource

    root = Path(home) / "openclaw"
    workspace = root / f"workspace-{AGENT}"
    for folder in (workspace, root / "agents" / AGENT / "sessions"):
        folder.mkdir(parents=True)
    (root / "openclaw.json").write_text("{}")
    for name, content in contents.items():
        (workspace / name).write_text(content)
    about = {"kind": "agent", "root": str(root), "path": f"agents/{AGENT}", "agent_id": AGENT}
    CollectorSource.objects.create(source_key="bench", **about)
    agent.home_name = AGENT
    agent.save()


def measure_growth(length, count=100):
    """Bytes by which the database grows with each write of a file of `length` bytes.

    Measured for a chain of writes, and for writes that each have a state of their own.
    """
    from agents import services
    from benchmarks.writes.write_throughput import State

    growth_by_name = {}
    for name, states in (("one after the other", 1), ("each from a state of its own", count)):
        db = services.register(f"growth-{states}-{length}").db
        file_states = [State(f"s{number}", length) for number in range(states)]
        _record_next(db, file_states[0], 0)
        before = _read_size(db)
        for number in range(count):
            _record_next(db, file_states[number % states], 1 + number)
        growth_by_name[name] = (_read_size(db) - before) // count
    return growth_by_name


def _record_next(db, state, number):
    from openclaw_web import clock

    write = state.next(number)
    _record_write(
        db, f"{write['id']}-{number}", "MEMORY.md", write["before"], write["after"], clock.now_ms() + number * 100
    )


def _read_size(db):
    from django.db import connections

    with connections[db].cursor() as cursor:
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return cursor.fetchone()[0]


def measure_cold(address, runs):
    """Milliseconds of a page's first answers in fresh processes, and of the floor there.

    Such a process has answered only the floor before.
    """
    program = ASK.format(address=address)
    env = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'benchmarks'}"}
    answers = []
    for _run in range(runs):
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
        answers.append(json.loads(done.stdout))
    return answers


def ask_once(address):
    """Print the milliseconds of the page, of the page again, and of the floor.

    It runs in a fresh process.
    """
    import django
    from django.conf import settings

    settings.ROOT_URLCONF = "page_floor"
    django.setup()
    from django.contrib.auth import get_user_model
    from django.test import Client

    from operations.server import preparation

    preparation.load_site()
    client = Client(headers={"host": "127.0.0.1"})
    person = get_user_model().objects.get(username="bench")
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    times = [_measure_request(client, url) for url in ("/floor/", "/floor/", address, address)]
    print(json.dumps({"floor": times[1], "first": times[2], "again": times[3]}))


def _measure_request(client, address):
    started = time.perf_counter()
    response = client.get(address)
    with suppress(AttributeError):
        response.getvalue()
    assert response.status_code == 200, (address, response.status_code)
    return (time.perf_counter() - started) * 1000
