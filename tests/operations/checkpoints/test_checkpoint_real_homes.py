"""Checkpoint packs of the compactions in a home that the real program wrote."""

from pathlib import Path

import pytest

from agents.models import Agent
from collecting import collect
from jobs.progress import Progress
from ledger.checkpoints.pack import pack_to_bytes
from ledger.checkpoints.schemas import Pack
from ledger.models import Session
from operations.checkpoints import services as checkpoints

HOME = Path(__file__).resolve().parents[4] / "shared" / "data" / "openclaw-2026.2.26"
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not HOME.exists(), reason="the recorded home is not on this machine"),
]


def test_every_compaction_has_a_pack_and_keeps_it(real_files):
    first, again = build_packs(), build_packs()
    assert len(first) >= 2 and first == again


def build_packs():
    """Collect everything anew; returns the handles of all packs."""
    for agent in Agent.objects.all():
        Session.objects.using(agent.db).all().delete()
    collect.run({"source": str(HOME), "include_deleted": True, "again": True}, Progress())
    handles = {}
    for agent in Agent.objects.all():
        for session in Session.objects.using(agent.db).filter(compaction_count__gt=0):
            for built in checkpoints.build_checkpoints(agent, session, "all", by="test"):
                Pack.model_validate(built.pack)
                assert pack_to_bytes(built.pack) and len(built.pack["bundle"]["text"]) <= 4000
                assert "Keep JSONL raw" in built.pack["summary"]["text"]
                handles[session.id, built.row.record_id] = built.row.handle
    return handles
