"""Fills homes with one version, runs others on them, and compares the rows."""

import hashlib
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests import homes
from tests.installation.next_version import build_environment
from tests.jobs import fork_server

RUNNING = re.compile(r"is running at (\S+)/")
GLOBAL, AGENT = Path("state/openclaw.sqlite"), Path("agents/main/agent/openclaw-agent.sqlite")
BACKUPS = "backups/openclaw-web-*.tar.zst"
# Tables whose rows an update or a start of the site changes.
OF_STARTS = {
    *("django_migrations", "django_content_type", "auth_permission", "sqlite_sequence", "backup_runs"),
    *("agent_databases", "job_runs", "problems", "problem_checks", "one_time_links", "agent_summaries"),
    *("findings", "finding_scans", "finding_values", "finding_value_agents"),
}
OF_JOBS = {"sample_exchanges": ("clean_rules", "clean_texts")}  # columns that a job fills after a start
# Rows that are compared: others are bookkeeping of starts, and the entries about a restore and scheduled jobs.
COMPARED = {"kv": "scope = 'settings'", "operator_audit": "action != 'restored' AND actor != 'schedule'"}
JUDGE = """
from agents.models import Agent
from datasets.models import DatasetSample
from datasets.review.verdicts import label_sample
from datasets.services import make_samples
from ledger.models import Session
agent = Agent.objects.get()
session = Session.objects.using(agent.db).first()
make_samples(agent, session.id, None, by="mei")
sample = DatasetSample.objects.order_by("id").first()
label_sample(sample.id, "approved", by="mei", notes="good")
"""


def start(program, home, *words, before=(), **more):
    """Start the version in the folder `program`; its output goes to one pipe."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    environment = build_environment(program, home, **more)
    if program == fork_server.CHECKOUT and not before:
        return fork_server.start("openclaw_web", *words, env=environment, **pipes)
    command = [*before, sys.executable, "-m", "openclaw_web", *words]
    return subprocess.Popen(command, cwd=program, env=environment, **pipes)


def run(program, home, *words, **more):
    """Run a command to its end; returns its status and its output."""
    process = start(program, home, *words, **more)
    output, _nothing = process.communicate()
    return process.returncode, output


def serve(program, home, *words, **more):
    """Serve until the site answers, and stop; returns the status and the output.

    A server that ends before has its own status.
    """
    output = ""
    with start(program, home, "serve", "--port", "0", "--no-watch", *words, **more) as process:
        for line in process.stdout:
            output += line
            if RUNNING.search(line):
                process.terminate()
                process.stdout.read()  # what it logs while it stops
    return process.returncode, output


def fill(program, home):
    """Fill a home with an agent, a user, a verdict and a setting."""
    script = homes.Home(Path(f"{home}-source")).transcript()
    for turn in range(8):
        script.add(homes.user(f"Question {turn}"), homes.assistant("", (f"c{turn}", "exec", {"n": turn})))
        script.add(homes.result(f"c{turn}", "x" * 3000), homes.assistant(f"Answer {turn} is long enough to be kept."))
    for words in (
        ("collect", "--quiet"),
        ("create_user", "mei", "--role", "admin"),
        ("settings", "set", "backup.keep", "5"),
        ("shell", "--no-imports", "-c", JUDGE),
    ):
        status, output = run(program, home, *words)
        assert status == 0, output
    assert serve(program, home)[0] == 0  # static files and locks, as in a home in use
    assert len(read_tables(home)[AGENT.as_posix(), "transcript_events"]) > 8


def read_tables(home):
    """The rows of every table of every database, each a dictionary, by file and table."""
    rows_of_table = {}
    for file in (home / GLOBAL, *sorted(home.glob("agents/*/agent/openclaw-agent.sqlite"))):
        with closing(sqlite3.connect(file)) as db:
            db.row_factory = sqlite3.Row
            assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
                if name not in OF_STARTS:
                    all_rows = db.execute(f'SELECT * FROM "{name}" WHERE {COMPARED.get(name, "TRUE")}')
                    rows = [
                        {key: value for key, value in dict(row).items() if key not in OF_JOBS.get(name, ())}
                        for row in all_rows
                    ]
                    rows_of_table[file.relative_to(home).as_posix(), name] = sorted(rows, key=repr)
    return rows_of_table


def find_losses(before, after):
    """The tables of `before` whose rows `after` does not have in the same columns."""
    return [
        place
        for place, rows in before.items()
        if sorted(rows, key=repr)
        != sorted(({name: row[name] for name in (rows or [row])[0]} for row in after.get(place, [])), key=repr)
    ]


def list_files(home):
    """The hash of every file of a home, except locks, by its path."""
    files = (path for path in home.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path.relative_to(home).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def read_migrations(file):
    """The migrations of one of our apps that a database has, as `app.name`."""
    with closing(sqlite3.connect(file)) as db:
        return {f"{app}.{name}" for app, name in db.execute("SELECT app, name FROM django_migrations")}


def read_backup_rows(home):
    """The status, path and maker of every backup that has a row."""
    with closing(sqlite3.connect(home / GLOBAL)) as db:
        return db.execute("SELECT status, archive_path, made_by FROM backup_runs ORDER BY created_at").fetchall()
