"""What a check of all problems costs, and how soon planted ones are found, beside very many rows.

    python benchmarks/checks/problems.py [--rows 1000000] [--agents 200] [--runs 3] [--json]

A temporary home has as many agents, each with a file of its own; one of them has --rows sessions and records and a
tenth as many decisions and writes, and the global file --rows samples, jobs and entries of the audit log. A cold check
is the first one ever, in passes of which the longest counts; a steady one has nothing new to look at. Then problems are
planted in one agent, and a check finds them. Figures are medians of processor time, of the planted ones of time on the
clock. Start-up of the process is not in them.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # in place of this folder, whose module is called as an app

import many_rows  # noqa: E402 - where it is has just been said
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
    found = {name: statistics.median(one[name] for one in figures) for name in figures[0]}
    print(json.dumps(found, indent=1) if options.json else table(found))


def fill(options):
    """A home in which nothing is wrong but what rows of a benchmark are by themselves."""
    from agents import services
    from operations.models import BackupRun

    big = services.register("big").db
    many_rows.fill_sessions(big, options.rows)
    many_rows.fill_agent(big, options.rows)
    many_rows.fill_gate(big, options.rows // 10)
    many_rows.fill_guardian(big, options.rows // 10)
    many_rows.settle(big)
    many_rows.fill_site(options.rows, agent="big")
    for number in range(options.agents - 1):
        db = services.register(f"agent-{number:03}").db
        many_rows.fill_gate(db, 100)
        many_rows.fill_guardian(db, 100)
        many_rows.settle(db)
    BackupRun.objects.create(id="b", created_at=1, proven_at=time.time_ns() // 1_000_000, archive_path="/none")
    many_rows.settle("default")
    load()


def load():
    """Import what a server has imported long before its first check."""
    from jobs import kinds as job_kinds
    from problems import kinds

    kinds.all_kinds()
    job_kinds.get_schedules()


def measure():
    """A cold check, a steady one, and one that finds what was planted."""
    from django.db import connections

    from agents import databases
    from problems import check_pass
    from problems.models import Problem, ProblemCheck

    Problem.objects.all().delete()
    ProblemCheck.objects.all().delete()
    passes = list(each_pass())
    until_complete()  # files that were closed for the first time
    steady, _passes = cost(check_pass.check_all)
    before = set(Problem.objects.filter(state="open").values_list("id", flat=True))
    plant(databases.get_alias("agent-007"))
    connections.close_all()
    start = time.perf_counter()
    until_complete()
    planted = time.perf_counter() - start
    new = Problem.objects.filter(state="open").exclude(id__in=before).count()
    unplant(databases.get_alias("agent-007"))
    longest, whole = max(passes), sum(passes)
    return {"cold": longest, "whole": whole, "passes": len(passes), "steady": steady, "planted": planted, "found": new}


def each_pass():
    """The processor seconds of each pass of a check that gets through everything."""
    from problems import check_pass

    is_complete = False
    while not is_complete:
        seconds, is_complete = cost(check_pass.check_all)
        yield seconds


def until_complete():
    """Passes until one got through everything."""
    list(each_pass())


def cost(act):
    """The processor seconds of an act, and what it answered."""
    start = time.process_time()
    answer = act()
    return time.process_time() - start, answer


def plant(db):
    """Ten things that are wrong with an agent: proposals for eight files, failing calls, an interrupted rollback."""
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
    """Take them away again."""
    from gate.models import GateCall
    from guardian.models import GuardianRun, RollbackIntent

    for model in (GateCall, GuardianRun, RollbackIntent):
        model.objects.using(db).filter(id__startswith="bench").delete()


def table(found):
    """The figures as rows of a table of Markdown."""
    lines = ["| what | seconds | bar |", "| --- | --- | --- |"]
    lines += [f"| {name} | {found[name]:.3f} | {bar} |" for name, bar in BARS.items()]
    lines.append(f"| planted problems found | {found['found']:g} of {PLANTED} | all |")
    return "\n".join([*lines, f"| all {found['passes']:g} passes of a cold check | {found['whole']:.3f} | |"])


if __name__ == "__main__":
    main()
