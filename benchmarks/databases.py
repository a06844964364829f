"""Measures the import of homes with databases against its floor: copy, read, decode, insert.

    python benchmarks/databases.py --source DIR [--json]

DIR is an OpenClaw home of either layout; `benchmarks/corpus.py` writes one of files. It is copied to the database
layout, with events of 1 KiB and more packed as newer versions pack them. Floor and collect run in their own processes,
into temporary homes. Without --json the result is a table.
"""

import argparse
import json
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

import ingest
import zstandard

BARS = {"time": 3, "peak_mb": 200, "unchanged_s": 2}
PACK_FROM = 1024
DDL = """
PRAGMA journal_mode=WAL;
PRAGMA user_version=23;
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
  created_at INTEGER NOT NULL, event_zstd BLOB, event_utf8_bytes INTEGER, PRIMARY KEY (session_id, seq));
CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT, updated_at INTEGER);
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", choices=["floor", "collect"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        run = floor if options.step == "floor" else ingest.collect
        print(json.dumps(run(options.source)))
        return
    with tempfile.TemporaryDirectory(prefix="openclaw-web-bench-") as home:
        packed = Path(home) / "packed"
        pack(options.source, packed)
        rows = measure(packed, home)
    print(json.dumps(rows, indent=1) if options.json else table(rows))


def measure(source, home):
    """Every figure of the table, each with its floor."""
    low = ingest.step("floor", source, f"{home}/floor", __file__)
    first = ingest.step("collect", source, f"{home}/store", __file__)
    again = ingest.step("collect", source, f"{home}/store", __file__)
    return {
        "records": low["lines"],
        "source_mb": low["bytes"] / 1e6,
        "floor_s": low["seconds"],
        "collect_s": first["seconds"],
        "collect_ratio": first["seconds"] / low["seconds"],
        "collect_peak_mb": first["peak_mb"],
        "unchanged_s": again["seconds"],
        "unchanged_bytes_read": again["bytes_read"],
    }


def pack(source, target):
    """Copy the home to the layout of schema 23, with zstd for longer events.

    Databases are made of a home of files.
    """
    for agent in sorted(path for path in source.glob("agents/*") if path.is_dir()):
        database = target / "agents" / agent.name / "agent" / "openclaw-agent.sqlite"
        database.parent.mkdir(parents=True)
        with closing(sqlite3.connect(database)) as store:
            store.executescript(DDL)
            written = agent / "agent" / "openclaw-agent.sqlite"
            rows, nodes = read_database(written) if written.exists() else read_files(agent / "sessions")
            store.executemany("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?, ?)", map(pack_row, rows))
            store.executemany("INSERT INTO session_nodes VALUES (?, ?, ?, ?)", nodes)
            store.commit()


def read_database(file):
    """Events and nodes of an agent whose events are not packed.

    Events come one by one, because the peak memory of a child process begins with ours.
    """
    with closing(sqlite3.connect(file)) as store:
        nodes = store.execute("SELECT session_key, current_session_id, entry_json, updated_at FROM session_nodes")
        return read_events(file), nodes.fetchall()


def read_events(file):
    with closing(sqlite3.connect(file)) as store:
        yield from store.execute("SELECT session_id, seq, event_json, created_at FROM transcript_events")


def read_files(folder):
    """The same of an agent whose transcripts are files."""
    index = json.loads((folder / "sessions.json").read_bytes())
    nodes = [(key, entry["sessionId"], json.dumps(entry), 0) for key, entry in index.items()]
    live = (file for file in sorted(folder.glob("*.jsonl")) if ingest.TRANSCRIPT.fullmatch(file.name))
    return read_lines(live), nodes


def read_lines(files):
    """The events of transcript files, read line by line for the reason in `read_database`."""
    for file in files:
        with file.open(encoding="utf-8", newline="\n") as lines:
            for seq, line in enumerate(lines):
                if line != "\n":
                    yield file.name[:36], seq, line.removesuffix("\n"), seq


def pack_row(row):
    session, seq, text, moment = row
    data = text.encode()
    if len(data) < PACK_FROM:
        return session, seq, text, moment, None, len(data)
    return session, seq, None, moment, zstandard.compress(data), len(data)


def floor(source):
    """The floor: copy, read, decode and insert, session by session."""
    store = ingest.FloorStore(Path.cwd() / "floor.sqlite")
    unpack = zstandard.ZstdDecompressor().decompress
    size = 0
    started = time.perf_counter()
    for database in find_databases(source):
        copy = Path.cwd() / "copy.sqlite"
        shutil.copyfile(database, copy)
        size += copy.stat().st_size
        with closing(sqlite3.connect(copy)) as reader:
            reader.text_factory = bytes
            sessions = [row[0] for row in reader.execute("SELECT DISTINCT session_id FROM transcript_events")]
            for session in sessions:
                sql = "SELECT event_json, event_zstd FROM transcript_events WHERE session_id = ? ORDER BY seq"
                lines = [text or unpack(data) for text, data in reader.execute(sql, (session.decode(),))]
                store.add(session.decode(), lines)
    return {"seconds": time.perf_counter() - started, "lines": store.lines, "bytes": size, "peak_mb": ingest.peak()}


def find_databases(home):
    return sorted(home.glob("agents/*/agent/openclaw-agent.sqlite"))


def table(rows):
    """The figures beside their bars, as Markdown."""
    lines = [
        (
            "collect",
            f"{rows['collect_s']:.1f} s",
            f"{rows['floor_s']:.1f} s",
            f"{rows['collect_ratio']:.2f}",
            BARS["time"],
        ),
        ("collect, peak memory", f"{rows['collect_peak_mb']:.0f} MB", "", "", f"{BARS['peak_mb']} MB"),
        ("second run, unchanged", f"{rows['unchanged_s']:.2f} s", "", "", f"{BARS['unchanged_s']} s"),
        ("bytes it read", rows["unchanged_bytes_read"], "", "", 0),
    ]
    head = f"{rows['records']:,} records, {rows['source_mb']:.0f} MB\n\n| row | figure | floor | ratio | bar |\n"
    body = "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
    return f"{head}| --- | --- | --- | --- | --- |\n{body}"


if __name__ == "__main__":
    main()
