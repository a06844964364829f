"""Measures staged copies: again without a change, and what rsync sends of one new line or row.

    python benchmarks/stage.py [--json]

It writes a home with 1,000 transcripts and a database of 100 MB, stages it, and fetches the copy by rsync into a folder
beside it. Without --json the result is a table.
"""

import argparse
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BARS = {"unchanged_s": 0.5, "line_mb": 1, "row_mb": 1}
FILES, SESSIONS, RECORDS = 1_000, 400, 220
DDL = """
PRAGMA journal_mode=WAL;
PRAGMA user_version=23;
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
  created_at INTEGER NOT NULL, event_zstd BLOB, PRIMARY KEY (session_id, seq));
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder))
    if options.json:
        sys.stdout.write(json.dumps({"figures": figures, "bars": BARS}, indent=2) + "\n")
        return
    for name, figure in figures.items():
        sys.stdout.write(f"{name:<14}{figure:>10.2f}  {f'at most {BARS[name]}' if name in BARS else ''}\n")


def measure(folder):
    home, target, mirror = folder / "openclaw", folder / "staged", folder / "mirror"
    lines, database = write_home(home)
    stage = prepare_stage(home, target)
    figures = {"first_s": stage(), "unchanged_s": min(stage() for _time in range(3))}
    figures["first_mb"] = fetch(target, mirror)
    with lines.open("a") as file:
        file.write(build_record("new") + "\n")
    figures["line_s"] = stage()
    figures["line_mb"] = fetch(target, mirror)
    with closing(sqlite3.connect(database, isolation_level=None)) as store:
        store.execute("INSERT INTO transcript_events VALUES (?, ?, ?, 1, NULL)", (str(uuid.UUID(int=7)), RECORDS, "{}"))
        figures["row_s"] = stage()
    figures["row_mb"] = fetch(target, mirror)
    return figures


def prepare_stage(home, target):
    """Return a function that stages in this process, and returns its processor seconds."""
    sys.path.insert(0, str(ROOT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "openclaw_web.settings"
    from openclaw_web.disk import home as own_home

    own_home.leave_alone()
    import django

    django.setup()
    from collecting.staging import stage

    def run():
        began = time.process_time()
        stage.run(home, target)
        return time.process_time() - began

    return run


def fetch(target, mirror):
    """Return how many megabytes rsync moves in both directions."""
    command = [
        "rsync",
        "-rt",
        "--stats",
        "--no-whole-file",
        "--delete-after",
        "--exclude=/.stage-*",
        f"{target}/",
        mirror,
    ]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counts = re.findall(r"Total bytes (?:sent|received): ([\d,]+)", words)
    return sum(int(count.replace(",", "")) for count in counts) / 1e6


def build_record(name):
    text = random.randbytes(500).hex()
    record = {"type": "message", "id": name, "parentId": None, "timestamp": "2026-02-21T03:00:01.000Z"}
    return json.dumps(record | {"message": {"role": "user", "content": text}})


def write_home(home):
    """Write a home; return one of its transcripts, and its database."""
    random.seed(46)
    sessions = home / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    for number in range(FILES):
        path = sessions / f"{uuid.UUID(int=random.getrandbits(128))}.jsonl"
        path.write_text("".join(build_record(f"r{number}") + "\n" for number in range(20)))
    database = home / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    database.parent.mkdir()
    with closing(sqlite3.connect(database)) as store:
        store.executescript(DDL)
        names = [str(uuid.UUID(int=number)) for number in range(SESSIONS)]
        rows = ((name, seq, build_record(f"e{seq}")) for seq in range(RECORDS) for name in names)
        store.executemany("INSERT INTO transcript_events VALUES (?, ?, ?, 1, NULL)", rows)
        store.commit()
    return path, database


if __name__ == "__main__":
    main()
