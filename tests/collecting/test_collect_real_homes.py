"""The collector on homes that the real program wrote, against a plain count of their lines."""

import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from agents.models import Agent
from collecting import collect
from jobs.progress import Progress
from ledger.models import RejectedRecord, Session, TranscriptEvent
from tests.collecting.collect_runs import assert_honest, read_progress

HOMES = Path(__file__).resolve().parents[3] / "shared" / "data"
TRANSCRIPT = re.compile(r"[0-9a-f-]{36}\.jsonl(\.(deleted|reset)\..+)?")
CANARY = re.compile(rb"sk-(?:ant-)?fake-[0-9a-z-]{20,}|CANARY-[A-Z-]{10,}")
SECRET = re.compile(rb'"(?:privateKeyPem|token|publicKey)": ?"([^"]{20,})"')

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine"),
]


@pytest.mark.parametrize("name", ["openclaw-2026.2.26", "openclaw-2026.7.1-hybrid"])
def test_every_line_of_a_real_home_is_in_the_store_once(real_files, name):
    root = HOMES / name
    result = collect.run({"source": str(root), "include_deleted": True}, Progress())
    raw = Counter()
    for file in root.glob("agents/*/sessions/*"):
        if TRANSCRIPT.fullmatch(file.name):
            raw.update(json.loads(line)["type"] for line in file.read_text().splitlines())
    stored = Counter()
    for agent in Agent.objects.all():
        stored.update(TranscriptEvent.objects.using(agent.db).values_list("event_type", flat=True))
        assert not TranscriptEvent.objects.using(agent.db).filter(event_id=None).exists()
        assert not RejectedRecord.objects.using(agent.db).exists()
    assert stored == raw
    assert result["records"] == raw.total()
    again = collect.run({"source": str(root), "include_deleted": True}, Progress())
    assert (again["records"], again["bytes_read"]) == (0, 0)


@pytest.mark.parametrize("name", ["openclaw-2026.7.2-beta.7", "openclaw-2026.9.6"])
def test_every_record_of_a_real_database_is_in_the_store_once(real_files, name):
    root = HOMES / name
    before = {path: path.stat() for path in root.rglob("*")}
    result = collect.run({"source": str(root), "include_deleted": True}, Progress())
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == {
        path: stat.st_mtime_ns for path, stat in before.items()
    }
    for agent in Agent.objects.all():
        raw = count_records(root / "agents" / agent.agent_id / "agent" / "openclaw-agent.sqlite")
        sessions = TranscriptEvent.objects.using(agent.db).values_list("session_id", "event_type")
        assert Counter(sessions) == raw
        assert not RejectedRecord.objects.using(agent.db).exists()
    again = collect.run({"source": str(root), "include_deleted": True}, Progress())
    assert (again["records"], again["bytes_read"], result["rejected"]) == (0, 0, 0)


@pytest.mark.parametrize("include_deleted", [False, True])
@pytest.mark.parametrize("name", sorted(path.name for path in HOMES.glob("openclaw-2*")))
def test_progress_of_a_real_home_is_honest(real_files, name, include_deleted):
    assert_honest(read_progress(HOMES / name))
    assert_honest(read_progress(HOMES / name, include_deleted=include_deleted))


def count_records(database):
    """Count the records of a database and its archives by session and type, by plain sqlite3."""
    counts = Counter()
    with closing(sqlite3.connect(f"file:{database}?immutable=1", uri=True)) as store:
        tables = {name for (name,) in store.execute("SELECT name FROM sqlite_master")}
        lines = [(row[0], row[1:]) for row in store.execute("SELECT * FROM transcript_events")]
        for session, values in lines:
            text = next((zstandard.decompress(v) for v in values if isinstance(v, bytes)), None) or values[1]
            counts[session, json.loads(text)["type"]] += 1
        if "session_transcript_archives" in tables:
            for session, blob in store.execute("SELECT session_id, archive_blob FROM session_transcript_archives"):
                counts.update((session, json.loads(line)["type"]) for line in zstandard.decompress(blob).splitlines())
    return counts


@pytest.mark.parametrize("name", ["openclaw-2026.2.26", "openclaw-2026.9.6"])
def test_no_key_of_a_real_home_reaches_the_store(real_files, name):
    root = HOMES / name
    keys = set()
    secrets = ("openclaw.json", "models.json", "device.json", "paired.json", "*.sqlite", "*.key")
    for path in (path for pattern in secrets for path in root.rglob(pattern)):
        data = path.read_bytes()
        keys |= set(CANARY.findall(data)) | set(SECRET.findall(data))
    assert keys
    collect.run({"source": str(root), "include_deleted": True}, Progress())
    for file in real_files.rglob("*.sqlite*"):
        data = file.read_bytes()
        assert not [key for key in keys if key in data]


def test_facts_of_the_long_real_session(real_files):
    collect.run({"source": str(HOMES / "openclaw-2026.2.26")}, Progress())
    session = Session.objects.using("agent_main").get(session_key="agent:main:main")
    assert (session.turn_count, session.compaction_count, session.record_count) == (15, 1, 71)
    failed = TranscriptEvent.objects.using("agent_main").filter(session=session, kind="tool_result", is_failed=True)
    assert failed.count() >= 3  # exit status, a missing file, an unknown tool
    big = TranscriptEvent.objects.using("agent_main").get(session=session, trim_json__contains='"aggregated":16')
    assert len(big.event_json) < 12_000
