"""Measures the import of a big home against its floor.

    python benchmarks/ingest.py --source DIR [--json]

The floor is `orjson.loads` of the same lines and `executemany` of the same rows. DIR is an OpenClaw home of the file
layout (`benchmarks/corpus.py` writes one). Floor and collect run in their own processes, one after the other, into
temporary homes. Without --json the result is a table.
"""

import argparse
import importlib
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson

ROOT = Path(__file__).resolve().parent.parent
TRANSCRIPT = re.compile(r"[0-9a-f-]{36}\.jsonl(\.(deleted|reset)\..*)?")
BARS = {"time": 2.5, "peak_mb": 200, "store": 1.5, "unchanged_s": 2, "stashing": 1.5, "store_stashed": 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", choices=["floor", "collect", "collect_plain"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(globals()[options.step](options.source)))
        return
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
        rows = measure(options.source, home)
    print(json.dumps(rows, indent=1) if options.json else table(rows))


def measure(source, home):
    """Every figure of the table, each with its floor and bar."""
    floor = step("floor", source, f"{home}/floor")
    plain = step("collect_plain", source, f"{home}/plain")
    plain_store = size_of(f"{home}/plain")
    first = step("collect", source, f"{home}/store")
    again = step("collect", source, f"{home}/store")
    store = size_of(f"{home}/store")
    return {
        "lines": floor["lines"],
        "source_mb": floor["bytes"] / 1e6,
        "floor_s": floor["seconds"],
        "plain_s": plain["seconds"],
        "plain_store_mb": plain_store / 1e6,
        "stashing_ratio": first["seconds"] / plain["seconds"],
        "stashing_cpu_ratio": first["cpu_seconds"] / plain["cpu_seconds"],
        "collect_s": first["seconds"],
        "collect_ratio": first["seconds"] / floor["seconds"],
        "collect_cpu_s": first["cpu_seconds"],
        "floor_cpu_s": floor["cpu_seconds"],
        "collect_peak_mb": first["peak_mb"],
        "store_mb": store / 1e6,
        "store_ratio": store / floor["bytes"],
        "unchanged_s": again["seconds"],
        "unchanged_bytes_read": again["bytes_read"],
    }


def size_of(folder):
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


def step(name, source, home, script=__file__):
    """Run a step of `script` in its own process; return the JSON of its last line."""
    Path(home).mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "OPENCLAW_WEB_HOME": home, "PYTHONPATH": str(ROOT), "OPENCLAW_WEB_LOG_LEVEL": "ERROR"}
    command = [sys.executable, script, "--source", str(source), "--step", name]
    answer = subprocess.run(command, env=environment, cwd=home, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout.strip().splitlines()[-1])


def floor(source):
    """The floor: read, parse and insert the same columns with the same indexes.

    Each file is one transaction.

    Of the values only the texts are looked for; nothing is checked, added up, linked or kept apart.
    """
    store = FloorStore(Path.cwd() / "floor.sqlite")
    size = 0
    started, cpu_started = time.perf_counter(), time.process_time()
    for file in sorted(path for path in source.glob("agents/*/sessions/*") if TRANSCRIPT.fullmatch(path.name)):
        data = file.read_bytes()
        size += len(data)
        store.add(file.name[:36], data.splitlines())
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "lines": store.lines, "bytes": size, "peak_mb": peak()}


class FloorStore:
    """The same columns and indexes as an agent's file, and nothing else."""

    def __init__(self, path):
        sys.path.insert(0, str(ROOT))
        os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
        import django

        django.setup()  # the columns are named beside the models
        from ledger.transcripts.rows import EVENT_COLUMNS, TURN_COLUMNS

        self.turn_columns, self.lines = len(TURN_COLUMNS), 0
        self.store = sqlite3.connect(path, isolation_level=None)
        self.store.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
            f"CREATE TABLE e ({', '.join(EVENT_COLUMNS)}, PRIMARY KEY (session_id, seq));"
            "CREATE UNIQUE INDEX e_id ON e (session_id, event_id);"
            "CREATE INDEX e_time ON e (created_at);"
            f"CREATE TABLE t ({', '.join(TURN_COLUMNS)}, PRIMARY KEY (id));"
            "CREATE UNIQUE INDEX t_number ON t (session_id, turn_number); CREATE INDEX t_time ON t (created_at);"
        )
        self.insert = {
            name: f"INSERT INTO {name} VALUES ({','.join('?' * len(columns))})"
            for name, columns in (("e", EVENT_COLUMNS), ("t", TURN_COLUMNS))
        }

    def add(self, session, lines):
        """The records of one session, in one transaction."""
        rows = build_floor_rows(session, lines, self.turn_columns)
        self.lines += len(rows["e"])
        self.store.execute("BEGIN IMMEDIATE")
        for name, values in rows.items():
            self.store.executemany(self.insert[name], values)
        self.store.execute("COMMIT")


def build_floor_rows(session, lines, turn_columns):
    """The rows of a transcript, with invented values where the real ones need computation."""
    events, turns = [], []
    for seq, line in enumerate(lines):
        record = orjson.loads(line)
        ids = (record["id"], record["type"], record.get("parentId"), None)
        small = ("user", 1, True, False, False, None, None, 0, 1, 1, 1, 1, 1, 0.1, None)
        events.append((session, seq, seq, *ids, *small, line.decode(), None))
        if record["type"] == "message" and record["message"]["role"] != "toolResult":
            text = read_text(record["message"]["content"])
            if record["message"]["role"] == "user":
                turn = [f"{session}:{record['id']}", session, len(turns), record["id"], text, None, None, None]
                turns.append([*turn, "", None, record["timestamp"], *[1] * (turn_columns - 11)])
            elif turns:
                turns[-1][8] = text
    return {"e": events, "t": turns}


def read_text(content):
    if isinstance(content, str):
        return content
    return next((block["text"] for block in content if block["type"] == "text"), "")


def collect(source):
    """Collect as the command does; starting Python and Django is not counted."""
    return run_job("collecting.collect", {"source": str(source), "include_deleted": True}, stashes=True)


def collect_plain(source):
    """The same with outputs left in their records."""
    return run_job("collecting.collect", {"source": str(source), "include_deleted": True}, stashes=False)


def run_job(module, params, *, stashes):
    """The result, time and peak memory of a job of ours in this process."""
    sys.path.insert(0, str(ROOT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    import django

    django.setup()
    from django.core.management import call_command

    from jobs.progress import Progress
    from people.configuration import setting_values as configuration

    call_command("migrate", verbosity=0)
    configuration.put("collector.stashOutputs", stashes)
    job = importlib.import_module(module)
    started, cpu_started = time.perf_counter(), time.process_time()
    result = job.run(params, Progress())
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    return {**result, "seconds": seconds, "cpu_seconds": cpu_seconds, "peak_mb": peak()}


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(rows):
    """The figures beside their bars, as Markdown."""
    lines = [
        ("collect", f"{rows['collect_s']:.1f} s", f"{rows['floor_s']:.1f} s", rows["collect_ratio"], BARS["time"]),
        (
            "collect, processor time",
            f"{rows['collect_cpu_s']:.1f} s",
            f"{rows['floor_cpu_s']:.1f} s",
            rows["collect_cpu_s"] / rows["floor_cpu_s"],
            BARS["time"],
        ),
        ("collect, peak memory", f"{rows['collect_peak_mb']:.0f} MB", "", None, f"{BARS['peak_mb']} MB"),
        ("the same, outputs left in records", f"{rows['plain_s']:.1f} s", "", None, ""),
        ("collect against that", "", "", rows["stashing_ratio"], BARS["stashing"]),
        ("the same in processor time", "", "", rows["stashing_cpu_ratio"], BARS["stashing"]),
        (
            "store, outputs left in records",
            f"{rows['plain_store_mb']:.0f} MB",
            f"{rows['source_mb']:.0f} MB",
            rows["plain_store_mb"] / rows["source_mb"],
            BARS["store"],
        ),
        (
            "store with its artifacts",
            f"{rows['store_mb']:.0f} MB",
            f"{rows['source_mb']:.0f} MB",
            rows["store_ratio"],
            BARS["store_stashed"],
        ),
        ("second run, unchanged", f"{rows['unchanged_s']:.2f} s", "", None, f"{BARS['unchanged_s']} s"),
        ("bytes it read", rows["unchanged_bytes_read"], "", None, 0),
    ]
    head = f"{rows['lines']:,} lines, {rows['source_mb']:.0f} MB\n\n| row | figure | floor | ratio | bar |\n"
    body = (
        f"| {name} | {got} | {low} | {'' if ratio is None else f'{ratio:.2f}'} | {bar} |"
        for name, got, low, ratio, bar in lines
    )
    return head + "| --- | --- | --- | --- | --- |\n" + "\n".join(body)


if __name__ == "__main__":
    main()
