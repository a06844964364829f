"""Measures collecting, and the page What if.

    python benchmarks/collecting.py --home HOME [--outcomes 100000] [--rounds 5] [--json]

HOME is a scratch copy of a home with imported agents: samples are created in it. The first run only counts, the second
creates samples, the third finds them. Then outcomes with random bits are added, and other thresholds are counted.
"""

import argparse
import json
import os
import random
import resource
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = 400  # different answers of the criteria; homes of 10,000 turns had 20 to 40


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", required=True)
    parser.add_argument("--outcomes", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    os.environ |= {"OPENCLAW_WEB_HOME": options.home, "OPENCLAW_WEB_LOG_LEVEL": "ERROR"}
    os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    import django

    django.setup()
    figures = {name: measure_run(is_dry=name == "count") for name in ("count", "create", "again")}
    figures["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    add_outcomes(options.outcomes)
    figures["what_if"] = measure_what_if(options.rounds)
    print(json.dumps(figures) if options.json else "\n".join(f"{name}: {value}" for name, value in figures.items()))


def measure_run(*, is_dry):
    """Turns, samples and seconds of processor time of one run."""
    from datasets.collection import runs
    from jobs.progress import Progress

    run, begin = runs.create_run(by="benchmark", is_dry=is_dry), time.process_time()
    funnel = runs.build_funnel(runs.perform(run, Progress()).counts)
    seconds = time.process_time() - begin
    figures = {"turns": funnel["turns"], "samples": funnel["samples"], "cpu_seconds": round(seconds, 2)}
    return figures | {"turns_per_second": round(funnel["turns"] / seconds)}


def add_outcomes(count):
    """Add outcomes of turns that can be samples."""
    from datasets.models import TurnOutcome

    chance = random.Random(1)
    patterns = [(chance.getrandbits(17) | 1 << 17, chance.getrandbits(15)) for _ in range(PATTERNS)]
    rows = []
    for number in range(count):
        yes, unknown = patterns[min(PATTERNS - 1, int(chance.expovariate(0.02)))]
        at = 1_770_000_000_000 + number * 60_000
        place = {"agent_id": "benchmark", "turn_id": f"t{number}", "session_id": f"s{number // 20}", "at": at}
        bits = {"yes": yes, "unknown": unknown & ~yes, "score": chance.choice([None, chance.random()])}
        rows.append(TurnOutcome(**place, **bits, turn_number=number % 20, outcome=4, run_id=1))
    TurnOutcome.objects.bulk_create(rows, batch_size=2_000)


def measure_what_if(rounds):
    """Milliseconds of one comparison, median and worst."""
    from datasets.collection import strategies, what_if

    before = strategies.find_in_force().criteria
    after = strategies.change_criteria(before, {"minQualityScore": 0.6, "noUserObjection": False, "turns": True})
    spans = []
    for _round in range(rounds):
        begin = time.perf_counter()
        what_if.compare(before, after)
        spans.append((time.perf_counter() - begin) * 1000)
    return {"median_ms": round(statistics.median(spans)), "worst_ms": round(max(spans))}


if __name__ == "__main__":
    main()
