"""Measures how quickly texts are scanned for personal data and secrets, beside reading alone.

    python benchmarks/checks/findings.py [--sessions N] [--turns N] [--runs 3] [--json]

A home of the demo's stories is imported, with an address in some of its messages. The floor reads all documents that a
scan reads, decodes them and finds nothing; the scan finds, stores and counts. Both are of one process on one core, in
megabytes of texts for each second of the processor. Then a scan that has nothing to do, and the count that pages show.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BAR_MB = 3
sys.path[:1] = [str(ROOT), str(ROOT / "benchmarks")]  # not this folder: this module has the name of an app


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=400)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        name, *arguments = options.step.split(":")
        print(json.dumps(globals()[name](*map(int, arguments))))
        return
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
        run_step(home, f"prepare:{options.sessions}:{options.turns}")
        runs = [run_step(home, "measure") for _run in range(options.runs)]
        figures = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    print(json.dumps(figures, indent=1) if options.json else format_table(figures))


def run_step(home, name):
    """Run a step in its own process; return the JSON of its last line."""
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(home), "OPENCLAW_WEB_LOG_LEVEL": "ERROR"}
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment |= {"PYTHONPATH": paths, "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    command = [sys.executable, __file__, "--step", name]
    answer = subprocess.run(command, env=environment, cwd=home, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(answer.stdout.strip().splitlines()[-1])


def prepare(sessions, turns):
    """Import a home into the empty store of this process."""
    import corpus

    source = Path("openclaw")
    corpus.write_bulk_home(source, agents=1, sessions=sessions, turns=turns)
    add_addresses(source)
    start_django()
    from django.core.management import call_command

    from collecting import collect
    from jobs.progress import Progress

    call_command("migrate", verbosity=0)
    return {"records": collect.run({"source": str(source.resolve())}, Progress())["records"]}


def add_addresses(source):
    """Append a message with an address to each transcript."""
    for number, file in enumerate(sorted(source.glob("**/sessions/*.jsonl"))):
        if file.name.endswith(".trajectory.jsonl"):
            continue
        text = f"Please write to customer{number}@hanamail.jp, or call +81 3-6205-{number % 10_000:04}."
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        stamp = "2026-11-26T10:00:00.000Z"
        record = {"type": "message", "id": f"added{number}", "parentId": None, "timestamp": stamp, "message": message}
        with file.open("a") as transcript:
            transcript.write(json.dumps(record) + "\n")


def measure():
    """Measure one floor, one scan of everything, and one scan of nothing new."""
    start_django()
    from agents.models import Agent
    from findings import scan
    from findings.models import Finding, FindingScan

    db = Agent.objects.get().db
    Finding.objects.using(db).all().delete()
    FindingScan.objects.using(db).all().delete()
    began = time.process_time()
    size, documents = read_all(db)
    floor = time.process_time() - began
    began = time.process_time()
    result = scan.scan_agent(db)
    seconds = time.process_time() - began
    began = time.process_time()
    scan.scan_agent(db)
    idle = time.process_time() - began
    began = time.process_time()
    scan.count_unscanned(db)
    counting = time.process_time() - began
    megabytes = size / 1_000_000
    return {
        "texts": documents,
        "MB": round(megabytes, 1),
        "findings": result.findings,
        "floor MB/s": round(megabytes / floor, 2),
        "scan MB/s": round(megabytes / seconds, 2),
        "scan / floor": round(seconds / floor, 2),
        "scan with nothing new, ms": round(idle * 1_000, 1),
        "count of what waits, ms": round(counting * 1_000, 1),
    }


def read_all(db):
    """Read every document of a store; return the bytes of their texts, and their number."""
    import orjson

    from findings.tables import TABLES
    from findings.transcript_documents import read_part
    from ledger.models import Session

    size = count = 0
    for session_id in Session.objects.using(db).order_by("id").values_list("id", flat=True):
        after, is_end = -1, False
        while not is_end:
            part = read_part(db, session_id, after)
            after, is_end = part.last_seq, part.is_end
            size += sum(len(orjson.dumps(document.value)) for document in part.documents)
            count += len(part.documents)
    for table in TABLES:
        after = -1
        while rows := table.read(db, after):
            after = rows[-1]["place"]
            for document in table.build(db, rows):
                size += len(orjson.dumps(document.value))
                count += 1
    return size, count


def start_django():
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()


def format_table(figures):
    rows = [f"{name:<28} {value:>12,}" for name, value in figures.items()]
    return "\n".join([*rows, f"{'bar, scan MB/s':<28} {BAR_MB:>12,}"])


if __name__ == "__main__":
    main()
