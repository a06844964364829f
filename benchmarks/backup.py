"""Measures a verified backup against its floor: VACUUM INTO, then zstd level 3.

    python benchmarks/backup.py [--sessions 3000] [--artifacts 10000] [--home DIR] [--json]

The home (about 1 GB, in a minute or two) is made first, in TMPDIR, or reused if DIR has one. A tenth of it, with
`--sessions 300 --artifacts 1000`, shows whether all steps work; fixed costs weigh more there. The floor copies every
database, packs the copies and the artifacts one after the other in one thread, and syncs. Every step runs in its own
process.
"""

import argparse
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
AGENTS = 4


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=3000)
    parser.add_argument("--artifacts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--home", type=Path, help="make the home here, or use the one that is here")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(globals()[options.step](options)))
        return
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as folder:
        home = (options.home or Path(folder) / "home").absolute()
        if not (home / "state" / "openclaw.sqlite").exists():
            step("fill", home, folder)
        rows = measure(home, folder, options.rounds)
    print(json.dumps(rows, indent=1) if options.json else table(rows))


def measure(home, folder, rounds):
    """Every row of the table, from the fastest of `rounds` alternating runs."""
    floors, backups = [], []
    for _round in range(rounds):
        floors.append(step("floor", home, folder))
        backups.append(step("backup", home, folder))
    floor, backup = (min(runs, key=lambda run: run["seconds"]) for runs in (floors, backups))
    threaded = step("floor_threads", home, folder)
    verify, drill = step("verify", home, folder), step("drill", home, folder)
    mega = 1e6
    return [
        row("home: databases and artifacts", backup["read"] / mega, None, None, "MB"),
        row("backup, opened and checked", backup["seconds"], floor["seconds"], 2, "s"),
        row("the same against zstd with two threads", backup["seconds"], threaded["seconds"], None, "s"),
        row("archive", backup["bytes"] / mega, floor["bytes"] / mega, 1.05, "MB"),
        row("peak memory of the backup", backup["peak_mb"], None, 300, "MB"),
        row("verify", verify["seconds"], floor["seconds"], None, "s"),
        row("peak memory of that", verify["peak_mb"], None, 300, "MB"),
        row("restore drill", drill["seconds"], floor["seconds"], None, "s"),
        row("peak memory of that", drill["peak_mb"], None, 300, "MB"),
    ]


def row(name, figure, floor, bar, unit):
    ratio = figure / floor if floor else None
    return {"row": name, "figure": figure, "floor": floor, "ratio": ratio, "bar": bar, "unit": unit}


def step(name, home, folder):
    """Run a step in its own process; return the JSON of its last line."""
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(home), "BENCH_FOLDER": str(folder)}
    environment |= {"PYTHONPATH": str(ROOT), "OPENCLAW_WEB_LOG_LEVEL": "ERROR"}
    command = [sys.executable, __file__, *sys.argv[1:], "--step", name]
    began = time.perf_counter()
    answer = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    print(f"{name}: {time.perf_counter() - began:.1f} s", file=sys.stderr)
    return json.loads(answer.stdout.strip().splitlines()[-1])


def set_up_django():
    """Set up Django for the home."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    import django

    django.setup()


def fill(options):
    """Make a home with four agents, their sessions and artifacts, half of them packed."""
    set_up_django()
    from django.core.management import call_command

    from agents import databases
    from agents.models import Agent
    from artifacts import services
    from benchmarks.artifacts import generate_outputs
    from benchmarks.corpus import write_bulk_home
    from collecting import collect
    from jobs.progress import Progress

    call_command("migrate", verbosity=0)
    source = Path(os.environ["BENCH_FOLDER"]) / "openclaw"
    write_bulk_home(source, agents=1, sessions=options.sessions // AGENTS, turns=50, seed=7, tool_bytes=3500)
    collect.run({"source": str(source)}, Progress())
    shutil.rmtree(source)
    first = Agent.objects.get()
    for number in range(1, AGENTS):
        copy_agent(first, f"{first.agent_id}-{number}")
    with services.open_stash_batch(databases.get_alias(first.agent_id)) as batch:
        for number, content in enumerate(generate_outputs(options.artifacts)):
            batch.add(content, place=services.Place("s", f"t{number}", f"r{number}"), is_compressed=number % 2 == 0)
    return {}


def copy_agent(agent, name):
    """Register another agent with a copy of an agent's sessions.

    Writing and collecting them again would take minutes and measure nothing.
    """
    from django.db import connections

    from agents import databases
    from agents.services import register
    from openclaw_web.sqlite import database_copies
    from overview import summaries

    other = register(name)
    connections.close_all()
    file = databases.get_path(name)
    file.unlink()
    database_copies.copy_database(databases.get_path(agent.agent_id), file)
    summaries.refresh(other)
    connections.close_all()


def floor(options):
    return pack(threads=0)


def floor_threads(options):
    return pack(threads=2)


def pack(threads):
    """The floor: pack a compact copy of each database, and the artifacts."""
    import zstandard

    home, folder = Path(os.environ["OPENCLAW_WEB_HOME"]), Path(os.environ["BENCH_FOLDER"])
    databases = [home / "state" / "openclaw.sqlite", *sorted(home.glob("agents/*/agent/openclaw-agent.sqlite"))]
    copy, packed = folder / "copy", folder / "packed"
    started = time.perf_counter()
    with packed.open("wb") as file:
        writer = zstandard.ZstdCompressor(level=3, threads=threads).stream_writer(file, closefd=False)
        for database in databases:
            with sqlite3.connect(database) as db:
                db.execute("VACUUM INTO ?", [str(copy)])
            db.close()
            add(writer, copy)
            copy.unlink()
        for artifact in sorted((home / "artifacts").rglob("*.*")):
            if artifact.is_file():
                add(writer, artifact)
        writer.flush(zstandard.FLUSH_FRAME)
        file.flush()
        os.fsync(file.fileno())
    result = {"seconds": time.perf_counter() - started, "bytes": packed.stat().st_size}
    packed.unlink()
    return result


def add(writer, path):
    with path.open("rb") as source:
        while chunk := source.read(1 << 20):
            writer.write(chunk)


def backup(options):
    set_up_django()
    from jobs.progress import Progress
    from operations.backups import services

    progress, started = Progress(), time.perf_counter()
    made = services.create({"folder": os.environ["BENCH_FOLDER"], "keep": 1}, progress)
    return {
        "seconds": time.perf_counter() - started,
        "bytes": made["bytes"],
        "read": progress.total / 2,
        "peak_mb": peak(),
    }


def verify(options):
    return run_on_latest("verify")


def drill(options):
    return run_on_latest("drill")


def run_on_latest(name):
    set_up_django()
    from jobs.progress import Progress
    from operations.backups import services

    started = time.perf_counter()
    getattr(services, name)({"backup": "latest"}, Progress())
    return {"seconds": time.perf_counter() - started, "peak_mb": peak()}


def peak():
    """The peak memory of this process and of those it started, in MB."""
    own, children = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(own, children) / 1024


def table(rows):
    """The figures beside their floors and bars, as Markdown."""

    def cell(value, unit=""):
        return "" if value is None else f"{value:,.2f} {unit}".strip()

    lines = [
        f"| {entry['row']} | {cell(entry['figure'], entry['unit'])} | {cell(entry['floor'], entry['unit'])} "
        f"| {cell(entry['ratio'])} | {'' if entry['bar'] is None else entry['bar']} |"
        for entry in rows
    ]
    return "\n".join(["| row | figure | floor | ratio | bar |", "| --- | --- | --- | --- | --- |", *lines])


if __name__ == "__main__":
    main()
