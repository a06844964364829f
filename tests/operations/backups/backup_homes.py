"""Fills homes and runs their commands, backups and restores in real processes.

Also reads what such a home contains, table by table.
"""

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import orjson

from operations.backups import backup_format
from tests import homes
from tests.jobs import fork_server
from tests.suite import fixture_cache

ROOT = Path(__file__).resolve().parents[3]
# Tables that differ after a restore: emptied on purpose, ended, or written by the backup and the restore themselves.
NOT_COMPARED = {
    *backup_format.EMPTIED_TABLES,
    *("job_runs", "problems", "problem_checks", "backup_runs", "operator_audit", "sign_ins"),
    *("agent_databases", "sqlite_sequence", "episode_heads"),
    *("site_spans", "memory_spans"),  # their oldest hours end with the clock
}
CLEAR = "from artifacts.store import garbage; garbage.collect(garbage.GarbageResult(is_dry_run=False))"
ARTIFACTS = """
from artifacts import services
with services.open_stash_batch("agent_main") as batch:
    for number in range({count}):
        place = services.Place("s", record_id=str(number))
        batch.add(b"content %d " % number * 400, place=place, is_compressed=number % 3 == 0)
"""

RELEASE = """
from datasets.models import Dataset, DatasetVersion
from datasets.seals import seal_release
dataset = Dataset.objects.create(id="d", name="support", options={}, created_by="mei", created_at=1)
version = DatasetVersion.objects.create(id="v", dataset=dataset, number=1, options={}, released_by="mei", released_at=1)
seal_release(version).save()
"""


def build_environment(home, **more):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAW", "DJANGO"))}
    inherited.pop("PYTHONDEVMODE", None)
    return inherited | {"OPENCLAW_WEB_HOME": str(home), "OPENCLAW_STATE_DIR": str(home) + "-source"} | more


def start(home, *words, **more):
    """Start `openclaw-web ...` on a home, in a process of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return fork_server.start("openclaw_web", *words, env=build_environment(home, **more), **pipes)


def are_artifacts_sound(home):
    """Return whether `artifact verify` finds nothing."""
    command = [sys.executable, "manage.py", "artifact", "verify"]
    return subprocess.run(command, cwd=ROOT, env=build_environment(home), capture_output=True).returncode == 0


def run(home, *words, **more):
    """Run a command to its end; returns (status, standard output, standard error).

    A command that imports into a home that does not exist yet gets a copy of a migrated one.
    """
    if {"collect", "--fix"} & {*words} and not Path(home).exists():
        shutil.copytree(fixture_cache.home(), home)
    process = start(home, *words, **more)
    out, err = process.communicate()
    return process.returncode, out, err


def run_backup(home, *words):
    """Return the receipt of a successful `backup ... --json`."""
    status, out, err = run(home, "backup", *words, "--json", "--quiet")
    assert status == 0, err + out
    return orjson.loads(out)


def run_python(home, code):
    status, out, err = run(
        home, "shell", "--no-imports", "-c", "from agents import databases\ndatabases.get_alias('main')\n" + code
    )
    assert status == 0, err
    return out


def fill(home, *, sessions=4, turns=10, artifacts=60):
    """Fill a home with two agents, a signed-in person, artifacts and an export."""
    source = homes.Home(Path(f"{home}-source"), agents=("main", "research"))
    for number in range(sessions):
        script = source.transcript(agent=("main", "research")[number % 2])
        for turn in range(turns):
            call = f"c{turn}"
            script.add(homes.user(f"Question {turn}"), homes.assistant("", (call, "exec", {"n": turn})))
            script.add(homes.result(call, "x" * 900), homes.assistant(f"Answer {turn}"))
    assert run(home, "collect")[0] == 0
    assert run(home, "create_user", "mei", "--role", "admin")[0] == 0
    run_python(home, ARTIFACTS.format(count=artifacts))
    run_python(home, RELEASE)
    export = home / "exports" / "01M802QPCKD3RD2B1CZH9PSDC7"
    export.mkdir(parents=True)
    (export / "manifest.json").write_text("{}")
    return source


def read_tables(home):
    """Return every row of every table that a restore gives back, by file and table."""
    rows_of_table = {}
    for file in (home / backup_format.GLOBAL_PATH, *sorted(home.glob("agents/*/agent/openclaw-agent.sqlite"))):
        with closing(sqlite3.connect(file)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
            for (name,) in names:
                if name not in NOT_COMPARED:
                    rows = db.execute(f'SELECT * FROM "{name}"').fetchall()
                    rows_of_table[file.relative_to(home).as_posix(), name] = sorted(map(repr, rows))
    return rows_of_table


def read_schema(home):
    """Return the tables, indexes, triggers and views of every database."""
    definitions = {}
    for file in (home / backup_format.GLOBAL_PATH, *sorted(home.glob("agents/*/agent/openclaw-agent.sqlite"))):
        with closing(sqlite3.connect(file)) as db:
            rows = db.execute("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'").fetchall()
            definitions[file.relative_to(home).as_posix()] = sorted(map(repr, rows))
    return definitions


def hash_artifacts(home):
    """Return the hash of every file of the artifact store."""
    root = home / "artifacts"
    files = [file for kind in ("blobs", "meta") for file in (root / kind).rglob("*") if file.is_file()]
    return {file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def find_archives(home):
    return sorted((home / "backups").glob("*.tar.zst"))
