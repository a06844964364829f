"""How long a doctor looks when nothing has changed: 1,000 sessions, against one `stat` of every source.

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
BAR_SECONDS = 5


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

    from operations import collect
    from operations.doctor import plan
    from operations.progress import Progress

    call_command("migrate", verbosity=0)
    source = str(options.source.absolute())
    collect.run({"source": source}, Progress())
    found = [timed(lambda: plan.look({"source": source}, Progress())) for _round in range(options.rounds)]
    seconds, receipt = min(found, key=lambda one: one[0])
    assert receipt["to_read"] == 0, receipt["message"]
    floor, _count = timed(lambda: sum(path.lstat().st_size for path in options.source.rglob("*")))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        {"row": "sources, unchanged", "figure": receipt["source_count"], "floor": None, "bar": None, "unit": ""},
        {"row": "plan", "figure": seconds, "floor": floor, "bar": BAR_SECONDS, "unit": "s"},
        {
            "row": "peak memory, the collect before it included",
            "figure": peak,
            "floor": None,
            "bar": None,
            "unit": "MB",
        },
    ]


def timed(work):
    began = time.perf_counter()
    answer = work()
    return time.perf_counter() - began, answer


def table(rows):
    lines = ["| row | figure | floor | bar |", "| --- | --- | --- | --- |"]
    for row in rows:
        floor = f"{row['floor']:.2f} {row['unit']}" if row["floor"] is not None else ""
        bar = f"{row['bar']} {row['unit']}" if row["bar"] else ""
        lines.append(f"| {row['row']} | {row['figure']:,.2f} {row['unit']} | {floor} | {bar} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
