"""Measures exports of 50,000 samples against their floor: select, `orjson.dumps`, write.

    python benchmarks/export.py [--source DIR] [--samples N] [--rounds N] [--json]

DIR is an OpenClaw home of the file layout (without --source `benchmarks/corpus.py` writes one). Its turns become
approved samples in a temporary home; a tenth of them has a high score, so that the same export with a lowest quality
has a tenth of the data. Every figure comes from its own process, floors and exports in turn.

The floor of alpaca selects the samples and dumps what it selected. The floor of sharegpt also selects the records of
each session's active branch, parses them (a message cannot be told from its record otherwise), unpacks the rests of
texts that are cut in their rows, reads the outputs that are artifacts and dumps, for each sample, as many messages as
make a row about as long as the export's.
"""

import argparse
import gzip
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from functools import reduce
from itertools import groupby, islice
from operator import getitem
from pathlib import Path

import orjson
import zstandard

ROOT = Path(__file__).resolve().parent.parent
BARS = {"ratio": 2.5, "growth": 1.1, "peak_mb": 100}
FLOOR_CHARACTERS = 47_000  # of records: makes rows about as long as the 32,000 of an export
FORMATS = ("alpaca", "sharegpt")
UNPACKER = zstandard.ZstdDecompressor()
HIGH, LOW = 0.9, 0.1
FACTS = "prompted_by, reply_stop, turn_traits"
PLACE = "agent_id, session_id, turn_number, id"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path)
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--home", type=Path, help="use this home, which a run before has filled, and keep it")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        name, _, argument = options.step.partition(":")
        print(json.dumps(globals()[name](argument)))
        return
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as folder:
        home = options.home or Path(folder) / "home"
        if not (home / "state").exists():
            prepare(home, options, Path(folder))
        rows = measure(home, options.rounds)
    print(json.dumps(rows, indent=1) if options.json else table(rows))


def prepare(home, options, folder):
    """Make a home with a collected store and its samples."""
    source = options.source
    if source is None:
        source = folder / "openclaw"
        corpus = [ROOT / "benchmarks" / "corpus.py", "--out", source, "--tool-bytes", "3500"]
        corpus += ["--sessions", str(options.samples // 40)]
        subprocess.run([sys.executable, *map(str, corpus)], check=True, stdout=subprocess.DEVNULL)
    home.mkdir(parents=True)
    step(home, f"collect:{source}")
    step(home, f"make_samples:{options.samples}")


def measure(home, rounds):
    """Every figure of the table: medians of the rounds, floors and exports in turn."""
    figures = {}
    for kind in FORMATS:
        runs = [(step(home, f"floor:{kind}"), step(home, f"export:{kind}")) for _ in range(rounds)]
        floors, exports = zip(*runs, strict=True)
        tenth = step(home, f"export:{kind} {HIGH}")
        floor_s, export_s = (statistics.median(run["seconds"] for run in side) for side in (floors, exports))
        floor_cpu, export_cpu = (statistics.median(run["cpu"] for run in side) for side in (floors, exports))
        figures[kind] = {
            "samples": exports[0]["rows"],
            "mb": exports[0]["bytes"] / 1e6,
            "floor_mb": floors[0]["bytes"] / 1e6,
            "floor_s": floor_s,
            "export_s": export_s,
            "ratio": export_s / floor_s,
            "floor_cpu_s": floor_cpu,
            "export_cpu_s": export_cpu,
            "cpu_ratio": export_cpu / floor_cpu,
            "rows_per_second": exports[0]["rows"] / export_s,
            "peak_mb": max(run["peak_mb"] for run in exports),
            "tenth_samples": tenth["rows"],
            "tenth_peak_mb": tenth["peak_mb"],
            "growth": max(run["peak_mb"] for run in exports) / tenth["peak_mb"],
        }
    return figures


def step(home, name):
    """Run a step in its own process; return the JSON of its last line."""
    environment = {**os.environ, "OPENCLAW_WEB_HOME": str(home), "OPENCLAW_WEB_LOG_LEVEL": "ERROR"}
    environment |= {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "openclaw_web.settings"}
    command = [sys.executable, __file__, "--step", name]
    answer = subprocess.run(command, env=environment, cwd=home, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(answer.stdout.strip().splitlines()[-1])


def collect(source):
    """Collect the home into the store."""
    start_django()
    from django.core.management import call_command

    from collecting.collect import run
    from jobs.progress import Progress

    call_command("migrate", verbosity=0)
    run({"source": source}, Progress())


def make_samples(count):
    """Store the first turns as approved samples, each with the ten messages before it."""
    store = sqlite3.connect("state/openclaw.sqlite")
    columns = "id, sample_type, turn_id, session_id, content, quality_score, annotation_status, created_at, agent_id"
    insert = f"INSERT INTO dataset_samples ({columns}, turn_number, {FACTS}) VALUES ({','.join('?' * 10)}, '', '', '')"
    store.executemany(insert, islice(samples(), int(count)))
    store.commit()
    complete("")


def complete(_argument):
    """Add what the jobs of a site store beside its samples: facts of turns, signatures, findings, exchanges."""
    start_django()
    from agents import databases
    from datasets import exchange_job, turn_facts
    from datasets.dedup import signatures
    from datasets.finding_values import sample_privacy
    from datasets.models import DatasetSample
    from findings import scan
    from jobs.progress import Progress

    places = DatasetSample.objects.order_by().values_list("agent_id", "session_id").distinct()
    for agent_id, session_id in list(places):
        rows = DatasetSample.objects.filter(agent_id=agent_id, session_id=session_id)
        numbers = list(rows.values_list("turn_number", flat=True))
        for number, ended in turn_facts.read_turn_facts(databases.get_alias(agent_id), session_id, numbers):
            facts = turn_facts.build_columns(ended.prompt, ended.stop, ended.traits)
            rows.filter(turn_number=number).update(**facts)
    signatures.renew(DatasetSample.objects.order_by("id").values_list("id", flat=True))
    scan.scan_all(Progress())
    sample_privacy.run_check({}, Progress())
    exchange_job.run({}, Progress())
    return {}


def samples():
    """Yield a row of `dataset_samples` for each answered turn, session by session."""
    for file in sorted(Path("agents").glob("*/agent/openclaw-agent.sqlite")):
        agent_id = file.parts[1]
        turns = sqlite3.connect(file).execute(
            "SELECT session_id, turn_number, id, user_message_content, agent_message_content, created_at"
            " FROM conversation_turns WHERE is_active AND user_message_content != '' AND agent_message_content != ''"
            " ORDER BY session_id, first_seq"
        )
        for number, (session_id, rows) in enumerate(groupby(turns, key=lambda row: row[0])):
            context = []
            for _, turn, turn_id, question, reply, moment in rows:
                body = {"type": "annotated_turn", "conversationId": session_id, "turnNumber": turn}
                body |= {"context": context[-10:], "userMessage": question, "agentReply": reply}
                content = orjson.dumps(body).decode()
                score = HIGH if number % 10 == 0 else LOW
                known = (f"{agent_id}-{turn_id}", "annotated_turn", turn_id, session_id, content, score, "approved")
                yield (*known, moment, agent_id, turn)
                context += [{"role": "user", "message": question}, {"role": "agent", "message": reply}]


def floor(kind):
    """The floor: select, dump and write."""
    started, worked = time.perf_counter(), time.process_time()
    with open("floor.jsonl", "wb", buffering=1024 * 1024) as file:
        for row in globals()[f"{kind}_floor"](sqlite3.connect("state/openclaw.sqlite")):
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    answer = measure_usage(started, worked) | {"bytes": os.path.getsize("floor.jsonl")}
    os.unlink("floor.jsonl")
    return answer


def alpaca_floor(store):
    columns = ("id", "agent_id", "session_id", "turn_number", "content", "output")
    for row in approved(store, columns):
        yield dict(zip(columns, row, strict=True))


def sharegpt_floor(store):
    events = {}
    places = ((row[0], row[1], row[2]) for row in approved(store, ("agent_id", "session_id", "turn_number", "content")))
    for (agent_id, session_id), rows in groupby(places, key=lambda row: row[:2]):
        if agent_id not in events:
            events[agent_id] = sqlite3.connect(f"agents/{agent_id}/agent/openclaw-agent.sqlite")
        records = events[agent_id].execute(
            "SELECT turn_number, event_json, full_zstd, trim_json FROM transcript_events WHERE session_id = ?"
            " AND is_active AND kind IN ('user', 'assistant', 'tool_result') ORDER BY seq",
            (session_id,),
        )
        messages = [(turn, *restore_message(text, rests, trimmed)) for turn, text, rests, trimmed in records]
        for _, _, number in rows:
            recent, size = [], 0
            for turn, length, message in reversed(messages):
                if (turn or 0) <= number and (size := size + length) <= FLOOR_CHARACTERS:
                    recent.append(message)
            yield {"agent_id": agent_id, "session_id": session_id, "turn": number, "conversations": recent[::-1]}


def restore_message(event_json, full_zstd, trim_json):
    """(length of a message, its content with cut texts and artifacts restored)."""
    record, length = orjson.loads(event_json), len(event_json)
    notes = orjson.loads(trim_json) if trim_json else {}
    for (*way, last), begin, rest in orjson.loads(UNPACKER.decompress(full_zstd)) if full_zstd else ():
        place = reduce(getitem, way, record)
        length += begin + len(rest) - len(place[last])
        place[last] = place[last][:begin] + rest
    content = record["message"]["content"]
    for note in notes.get("stashed", ()):
        sha256 = note["handle"][-64:]
        with gzip.open(f"artifacts/blobs/sha256/{sha256[:2]}/{sha256[2:4]}/{sha256}.txt.gz") as file:
            content[int(note["path"].split(".")[2])]["text"] = file.read().decode()
        length += note["chars"]
    return length, content


def approved(store, columns):
    status = "annotation_status IN ('approved', 'auto_approved')"
    return store.execute(f"SELECT {', '.join(columns)} FROM dataset_samples WHERE {status} ORDER BY {PLACE}")


def export(kind_and_quality):
    """Build an export as the job does; starting Python and Django is not counted."""
    start_django()
    import shutil

    from datasets.exports import exports
    from jobs.progress import Progress

    kind, _, quality = kind_and_quality.partition(" ")
    chosen = {"min_quality": float(quality) if quality else None, "include": ("flagged",), "duplicates": "keep"}
    row = exports.create_export("benchmark", kind, "reply", by="benchmark", **chosen)
    started, worked = time.perf_counter(), time.process_time()
    manifest = exports.build_export(row.id, Progress())
    answer = measure_usage(started, worked)
    shutil.rmtree(exports.folder_of(row))
    size = sum(file["bytes"] for file in manifest["files"])
    return answer | {"rows": manifest["counts"]["rows"], "bytes": size}


def start_django():
    sys.path.insert(0, str(ROOT))  # before this folder, where artifacts.py is a benchmark
    import django

    django.setup()


def measure_usage(started, worked):
    """The wall time, processor time and peak memory of a step."""
    seconds, cpu = time.perf_counter() - started, time.process_time() - worked
    return {"seconds": seconds, "cpu": cpu, "peak_mb": peak()}


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(figures):
    """The figures beside their bars, as Markdown."""
    lines = ["| row | figure | floor | ratio | bar |", "| --- | --- | --- | --- | --- |"]
    for kind, row in figures.items():
        figure = f"{row['export_s']:.1f} s, {row['mb']:.0f} MB, {row['rows_per_second']:,.0f} rows/s"
        floor_ = f"{row['floor_s']:.1f} s, {row['floor_mb']:.0f} MB"
        name = f"{kind}, {row['samples']:,} samples"
        lines.append(f"| {name} | {figure} | {floor_} | {row['ratio']:.2f} | {BARS['ratio']} |")
        cpu = f"{row['export_cpu_s']:.1f} s | {row['floor_cpu_s']:.1f} s"
        lines.append(f"| {kind}, processor time | {cpu} | {row['cpu_ratio']:.2f} | |")
        memory = f"{row['peak_mb']:.0f} MB | {row['tenth_peak_mb']:.0f} MB with {row['tenth_samples']:,}"
        bars = f"{BARS['growth']}, {BARS['peak_mb']} MB"
        lines.append(f"| {kind}, peak memory | {memory} | {row['growth']:.2f} | {bars} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
