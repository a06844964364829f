"""The collector on homes that the real program wrote, against a plain count of their lines."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from agents.models import Agent
from ledger.models import RejectedRecord, Session, TranscriptEvent, TranscriptEventIdentity
from operations import collect
from operations.progress import Progress

HOMES = Path(__file__).resolve().parents[3] / "shared" / "data"
TRANSCRIPT = re.compile(r"[0-9a-f-]{36}\.jsonl(\.(deleted|reset)\..+)?")
CANARY = re.compile(rb"sk-(?:ant-)?fake-[0-9a-z-]{20,}")
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
        stored.update(TranscriptEventIdentity.objects.using(agent.db).values_list("event_type", flat=True))
        assert (
            TranscriptEvent.objects.using(agent.db).count() == TranscriptEventIdentity.objects.using(agent.db).count()
        )
        assert not RejectedRecord.objects.using(agent.db).exists()
    assert stored == raw
    assert result["records"] == raw.total()
    again = collect.run({"source": str(root), "include_deleted": True}, Progress())
    assert (again["records"], again["bytes_read"]) == (0, 0)


def test_no_key_of_a_real_home_reaches_the_store(real_files):
    root = HOMES / "openclaw-2026.2.26"
    keys = set()
    for name in ("openclaw.json", "agents/main/agent/models.json", "identity/device.json", "devices/paired.json"):
        data = (root / name).read_bytes()
        keys |= set(CANARY.findall(data)) | set(
            re.findall(rb'"(?:privateKeyPem|token|publicKey)": ?"([^"]{20,})"', data)
        )
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
