"""Measures a doctor run on 1,000 unchanged sessions.

The floor of a look is the same look, in the same run, without comparing the store with the noted counts; that of
`--deep` is a collect of the same sources. Both are processor time, so that other work on the machine does not count.

    python benchmarks/corpus.py --out /tmp/corpus --agents 4 --sessions 1000 --turns 50 --seed 7 --tool-bytes 3500

    python benchmarks/doctor.py --source /tmp/corpus
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BAR_SECONDS, BAR_LOOK, BAR_DEEP = 5, 3, 1.5


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True, help="an OpenClaw home, as corpus.py makes it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as folder:
        os.environ |= {"OPENCLAW_WEB_HOME": folder, "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
        sys.path.insert(0, str(ROOT))
        rows = measure(options)
    print(json.dumps(rows, indent=1) if options.json else table(rows))


def measure(options):
    import django

    django.setup()
    from django.core.management import call_command

    from collecting import collect
    from jobs.progress import Progress
    from operations.doctor import plan

    call_command("migrate", verbosity=0)
    params = {"source": str(options.source.absolute())}
    _answer, collected, _wall = measure_time(lambda: collect.run(params, Progress()))
    looks = [measure_time(lambda: plan.run_check(params, Progress())) for _round in range(options.rounds)]
    bare = [
        measure_time(lambda: plan.run_check(params | {"counts": False}, Progress())) for _round in range(options.rounds)
    ]
    deep = [
        measure_time(lambda: plan.run_check(params | {"deep": True}, Progress())) for _round in range(options.rounds)
    ]
    receipt = looks[0][0]
    assert receipt["to_read"] == 0 and not receipt["losses"], receipt["message"]
    assert deep[0][0]["compared"]["records"] == receipt["compared"]["records"], deep[0][0]["message"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    look, floor, compared = (min(run[1] for run in runs) for runs in (looks, bare, deep))
    return [
        row("sources, unchanged", receipt["source_count"]),
        row("records, counted and compared", receipt["compared"]["records"]),
        row("look, wall clock", min(run[2] for run in looks), bar=BAR_SECONDS, unit="s"),
        row("look", look, floor=floor, bar=BAR_LOOK, ratio=look / floor, unit="s"),
        row("--deep", compared, floor=collected, bar=BAR_DEEP, ratio=compared / collected, unit="s"),
        row("peak memory, the collect before it included", peak, unit="MB"),
    ]


def row(name, figure, *, floor=None, ratio=None, bar=None, unit=""):
    return {"row": name, "figure": figure, "floor": floor, "ratio": ratio, "bar": bar, "unit": unit}


def measure_time(work):
    """(answer, processor seconds, wall seconds) of a call."""
    began, wall = time.process_time(), time.perf_counter()
    answer = work()
    return answer, time.process_time() - began, time.perf_counter() - wall


def table(rows):
    lines = ["| row | figure | floor | ratio | bar |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        floor = f"{row['floor']:.2f} {row['unit']}" if row["floor"] is not None else ""
        ratio = f"{row['ratio']:.2f}" if row["ratio"] is not None else ""
        lines.append(f"| {row['row']} | {row['figure']:,.2f} {row['unit']} | {floor} | {ratio} | {row['bar'] or ''} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
