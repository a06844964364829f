"""Measures a check of all problems, and how soon it finds new ones.

    python benchmarks/checks/problems.py [--rows 1000000] [--agents 200] [--runs 3] [--json]

A temporary home has --agents agents, each with its own file. One of them has --rows sessions and records and a tenth as
many decisions and writes; the global file has --rows samples, jobs and entries of the audit log. A cold check is the
first one, in several passes of which the longest counts; a steady check has nothing new to read. Then problems are
planted in one agent, and a check finds them. Figures are medians of processor time, of the planted ones of wall time,
without the start of the process.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # not this folder: its module has the name of an app

import bulk_rows  # noqa: E402 - its folder has just been set
import pages  # noqa: E402 - as above

PLANTED = 10
BARS = {"cold": 0.5, "steady": 0.5, "planted": 2.0}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
        pages.start(home)
        fill(options)
        figures = [measure() for _ in range(options.runs)]
    figures_by_name = {name: statistics.median(run[name] for run in figures) for name in figures[0]}
    print(json.dumps(figures_by_name, indent=1) if options.json else table(figures_by_name))


def fill(options):
    """Make a home without problems, apart from those of the benchmark's rows."""
    from agents import services
    from operations.models import BackupRun

    big = services.register("big").db
    bulk_rows.fill_sessions(big, options.rows)
    bulk_rows.fill_agent(big, options.rows)
    bulk_rows.fill_gate(big, options.rows // 10)
    bulk_rows.fill_guardian(big, options.rows // 10)
    bulk_rows.checkpoint_wal(big)
    bulk_rows.fill_site(options.rows, agent="big")
    for number in range(options.agents - 1):
        db = services.register(f"agent-{number:03}").db
        bulk_rows.fill_gate(db, 100)
        bulk_rows.fill_guardian(db, 100)
        bulk_rows.checkpoint_wal(db)
    BackupRun.objects.create(id="b", created_at=1, proven_at=time.time_ns() // 1_000_000, archive_path="/none")
    bulk_rows.checkpoint_wal("default")
    import_kinds()


def import_kinds():
    """Import the modules that a server imports before its first check."""
    from jobs import kinds as job_kinds
    from problems import kinds

    kinds.all_kinds()
    job_kinds.get_schedules()


def measure():
    """Measure a cold check, a steady one, and one that finds planted problems."""
    from django.db import connections

    from agents import databases
    from problems import check_pass
    from problems.models import Problem, ProblemCheck

    Problem.objects.all().delete()
    ProblemCheck.objects.all().delete()
    passes = list(measure_passes())
    check_completely()  # reads files that were closed for the first time
    steady, _passes = measure_cost(check_pass.check_all)
    before = set(Problem.objects.filter(state="open").values_list("id", flat=True))
    plant(databases.get_alias("agent-007"))
    connections.close_all()
    start = time.perf_counter()
    check_completely()
    planted = time.perf_counter() - start
    new = Problem.objects.filter(state="open").exclude(id__in=before).count()
    unplant(databases.get_alias("agent-007"))
    longest, whole = max(passes), sum(passes)
    return {"cold": longest, "whole": whole, "passes": len(passes), "steady": steady, "planted": planted, "found": new}


def measure_passes():
    """Yield the processor seconds of each pass until a check is complete."""
    from problems import check_pass

    is_complete = False
    while not is_complete:
        seconds, is_complete = measure_cost(check_pass.check_all)
        yield seconds


def check_completely():
    """Run passes until a check is complete."""
    list(measure_passes())


def measure_cost(act):
    """The processor seconds of a call, and its result."""
    start = time.process_time()
    answer = act()
    return time.process_time() - start, answer


def plant(db):
    """Plant ten problems: proposals for eight files, failing calls, an interrupted rollback."""
    from gate.models import GateCall
    from guardian.models import GuardianRun, RollbackIntent

    now = time.time_ns() // 1_000_000
    about = {"candidate_fact": "x", "started_by": "bench", "created_at": now, "state": "proposed"}
    rows = [GuardianRun(id=f"bench{n}", target_file=f"F{n}.md", **about) for n in range(PLANTED - 2)]
    GuardianRun.objects.using(db).bulk_create(rows)
    about = {"session_id": "s", "origin": "own", "outcome": "failed"}
    calls = [GateCall(id=f"bench{n}", created_at=now - n, **about) for n in range(5)]
    GateCall.objects.using(db).bulk_create(calls)
    RollbackIntent.objects.using(db).create(
        id="bench", file_name="MEMORY.md", audits_json="[]", draft_name="x", created_at=now - 3_600_000
    )


def unplant(db):
    """Remove the planted problems."""
    from gate.models import GateCall
    from guardian.models import GuardianRun, RollbackIntent

    for model in (GateCall, GuardianRun, RollbackIntent):
        model.objects.using(db).filter(id__startswith="bench").delete()


def table(figures):
    """Format the figures as a table of Markdown."""
    lines = ["| what | seconds | bar |", "| --- | --- | --- |"]
    lines += [f"| {name} | {figures[name]:.3f} | {bar} |" for name, bar in BARS.items()]
    lines.append(f"| planted problems found | {figures['found']:g} of {PLANTED} | all |")
    return "\n".join([*lines, f"| all {figures['passes']:g} passes of a cold check | {figures['whole']:.3f} | |"])


if __name__ == "__main__":
    main()
