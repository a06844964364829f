"""Writes to memory files outlive their sessions; unreferenced old versions are removed.

The newest versions stay in any case.
"""

import pytest

from guardian import services
from guardian.models import FileSnapshot, RollbackIntent, WriteGuardianAudit
from ledger.models import ConversationTurn, Session
from operations import pruning
from operations.artifact_gc.mentions import Mentions
from people.configuration import setting_values as configuration
from tests.factories import T0, SessionFactory, TurnFactory
from tests.guardian.write_rows import create_write

from .old_sessions import count_kept, remove
from .test_retention_evidence import HANDLE, store_artifact

pytestmark = pytest.mark.django_db
DB, BEFORE = "agent_ada", T0 + 10_000_000


@pytest.fixture
def old(ada):
    session = SessionFactory(db=DB, id="s1", last_activity_at=T0)
    TurnFactory(db=DB, id="s1:u1", session=session, created_at=T0, user_message_id="u1")
    return session


def version_ids():
    return list(FileSnapshot.objects.using(DB).order_by("created_at").values_list("id", flat=True))


def test_a_write_stays_without_its_session(old):
    create_write(DB, 1, b"one\n", b"two\n", turn_id="s1:u1")
    assert count_kept(BEFORE) == {}
    remove("s1", BEFORE)
    assert not Session.objects.using(DB).exists() and not ConversationTurn.objects.using(DB).exists()
    row = WriteGuardianAudit.objects.using(DB).get()
    assert (row.turn_id, row.session_id, row.candidate_fact) == ("s1:u1", "s1", "Likes tea.")
    assert row.after_snapshot.content == "two\n"


def test_an_output_that_a_write_mentions_keeps_its_session(old):
    store_artifact(old)
    create_write(DB, 1, None, b"x\n", candidate_fact=f"The plan is in {HANDLE}", session_id="s2")
    assert count_kept(BEFORE) == {"mentions": 1}


def test_versions_that_are_no_text_stop_no_search_for_mentions(old):
    create_write(DB, 1, None, b"\xff" + HANDLE.encode() + b"\n")
    assert Mentions().find_mentioned([HANDLE]) == [HANDLE]


def test_versions_beyond_those_that_are_kept_go_and_what_something_refers_to_stays(ada):
    configuration.put("writeGuardianAuditing.maxSnapshotsPerFile", 3)
    for number in range(450):
        services.store_version(DB, "MEMORY.md", b"%d" % number, modified_ms=T0 + number)
    ids = version_ids()
    services.store_version(DB, "USER.md", b"alone", modified_ms=T0 + 900)
    WriteGuardianAudit.objects.using(DB).create(
        id="w1", target_file="MEMORY.md", status="written", origin="imported", created_at=T0,
        before_snapshot_id=ids[1], after_snapshot_id=ids[5],
    )  # fmt: skip
    RollbackIntent.objects.using(DB).create(
        id="i1", file_name="MEMORY.md", audits_json="[]", after_snapshot_id=ids[9], draft_name="x", created_at=T0
    )
    assert pruning.prune() == 450 - 3 - 3
    assert version_ids()[:-1] == [ids[1], ids[5], ids[9], *ids[-3:]]
    assert pruning.prune() == 0


def test_versions_go_although_jobs_stay(ada):
    configuration.put("jobs.retentionDays", 0)
    configuration.put("writeGuardianAuditing.maxSnapshotsPerFile", 1)
    for number in range(3):
        services.store_version(DB, "SOUL.md", b"%d" % number, modified_ms=T0 + number)
    assert pruning.prune() == 2
