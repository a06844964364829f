"""Measures signals: turns asked a second, and how long the answers take beside reading the same texts.

    python benchmarks/turn_quality.py --home HOME [--rounds 3] [--json]

HOME is a home with imported agents; all of its turns are asked anew in each round. The floor reads the texts of these
turns and asks nothing; `ratio` is the processor time of the job over that of the floor, both of the same round. Figures
are medians.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    os.environ |= {"OPENCLAW_WEB_HOME": options.home, "OPENCLAW_WEB_LOG_LEVEL": "ERROR"}
    os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    import django

    django.setup()
    rounds = [measure() for _round in range(options.rounds)]
    figures = {name: statistics.median(figures[name] for figures in rounds) for name in rounds[0]}
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    for name, figure in figures.items():
        print(f"{name:20} {figure:,.3f}" if isinstance(figure, float) else f"{name:20} {figure:,}")


def measure():
    """One round: the floor, the answers alone, and the job with all that it stores; in seconds of the processor."""
    from datasets.models import SignalPosition, TurnSignals
    from datasets.quality import job
    from datasets.quality.all_signals import find_answers

    began = time.process_time()
    turns = sum(1 for _texts in read_all())
    floor = time.process_time() - began
    answers = 0.0
    for texts in read_all():
        began = time.process_time()
        find_answers(texts)
        answers += time.process_time() - began
    TurnSignals.objects.all().delete()
    SignalPosition.objects.all().delete()
    began = time.process_time()
    assert job.fill_all()["turns"] == turns
    whole = time.process_time() - began
    figures = {"turns": turns, "floor": floor, "answers": answers, "job": whole}
    return figures | {"ratio": whole / floor, "turns_per_second": turns / whole}


def read_all():
    """Yield the texts of all turns, as the job reads them."""
    from datasets.quality import job
    from datasets.quality.turn_reader import SessionReader, build_people_finder
    from ledger.models import Session

    for _agent_id, db in job.list_agents():
        find_people = build_people_finder(db)
        for session in Session.objects.using(db).order_by("id"):
            turns = list(job.select_turns(db, session.id))
            yield from SessionReader(db, session, find_people).read(turns, {turn.id for turn in turns})


if __name__ == "__main__":
    main()
