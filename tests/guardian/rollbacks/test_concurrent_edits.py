"""Writes of an agent during a rollback of its file: kept, and asked about."""

import os

import orjson
import pytest

from guardian import services, versions
from guardian.models import FileSnapshot, RollbackIntent, WriteGuardianAudit
from guardian.recording import snapshot_matching, snapshot_pruning
from guardian.rollbacks import concurrent_edits
from guardian.rollbacks.service import FileChanged
from guardian.services import read_version_bytes
from people.configuration import setting_values as configuration
from tests import faults

from .rolled_back_writes import DB, NAME, T0, create_write, roll_back

pytestmark = pytest.mark.django_db


def test_what_an_agent_writes_meanwhile_is_kept_and_asked_about(ada, file):
    create_write(file, 1, b"a\n", b"b\n")
    agent = os.open(file, os.O_WRONLY)
    with faults.before_file_event(
        "open", lambda path: path.endswith(".rollback"), lambda: os.pwrite(agent, b"late\n", 0)
    ):
        result = roll_back(ada, 1)
    os.close(agent)
    assert file.read_bytes() == b"a\n"
    version = FileSnapshot.objects.using(DB).get(id=result.meanwhile[0])
    assert read_version_bytes(version) == b"late\n"
    (waiting,) = concurrent_edits.find_by_write(ada, "w1")
    assert waiting.version == version
    concurrent_edits.settle(ada, "w1", version.id, by="otto", seen=waiting.seen)
    assert file.read_bytes() == b"late\n" and not concurrent_edits.find_by_write(ada, "w1")
    with pytest.raises(FileChanged, match="already"):
        concurrent_edits.settle(ada, "w1", version.id, by="otto", seen=None)


def test_only_what_an_agent_wrote_meanwhile_can_be_put_into_the_file(ada, file):
    create_write(file, 1, b"# Facts\n", b"# Facts\nbad\n")
    agent = os.open(file, os.O_WRONLY | os.O_APPEND)
    with faults.before_file_event("open", lambda path: path.endswith(".rollback"), lambda: os.write(agent, b"late\n")):
        result = roll_back(ada, 1)
    os.close(agent)
    (waiting,) = concurrent_edits.find_by_write(ada, "w1")
    assert (waiting.change.diff.added, waiting.added.diff.added) == (2, 1)
    concurrent_edits.settle(ada, "w1", result.meanwhile[0], by="otto", seen=waiting.seen, is_alone=True)
    assert file.read_bytes() == b"# Facts\nlate\n"
    own = WriteGuardianAudit.objects.using(DB).latest("created_at")
    assert (own.origin, own.candidate_fact, own.turn_id, own.lines_added) == ("rollback", None, None, 1)
    assert "somebody else wrote" in own.reason


def store_unsettled_versions(*contents):
    """Store versions that an agent wrote while w1 was rolled back, all of them unsettled."""
    rows = [services.build_snapshot(NAME, data, moment=T0 + 10**9 + at) for at, data in enumerate(contents)]
    FileSnapshot.objects.using(DB).bulk_create(rows)
    columns = {"file_name": NAME, "draft_name": "d", "state": "done", "created_at": T0, "ended_at": T0}
    listed = orjson.dumps([row.id for row in rows]).decode()
    RollbackIntent.objects.using(DB).create(id="i", audits_json='["w1"]', meanwhile_json=listed, **columns)
    return rows


def test_of_several_such_versions_each_is_settled(ada, file):
    create_write(file, 1, b"a\n", b"b\n")
    first, second = store_unsettled_versions(b"x\n", b"y\n")
    concurrent_edits.settle(ada, "w1", first.id, by="otto", seen=None)
    (waiting,) = concurrent_edits.find_by_write(ada, "w1")
    assert waiting.version == second and concurrent_edits.find_unsettled_write(DB) == "w1"
    with pytest.raises(FileChanged, match="already"):
        concurrent_edits.settle(ada, "w1", first.id, by="otto", seen=waiting.seen)
    concurrent_edits.settle(ada, "w1", second.id, by="otto", seen=waiting.seen)
    assert file.read_bytes() == b"y\n" and concurrent_edits.find_unsettled_write(DB) is None


def test_such_versions_are_not_pruned_until_they_are_settled(ada, file):
    create_write(file, 1, b"a\n", b"b\n")
    (version,) = store_unsettled_versions(b"x\n")
    for number in range(3):
        services.store_version(DB, NAME, b"%d\n" % number, modified_ms=T0 + 10**10 + number)
    configuration.put("writeGuardianAuditing.maxSnapshotsPerFile", 2)
    snapshot_pruning.prune_snapshots(DB)
    concurrent_edits.settle(ada, "w1", version.id, by="otto", seen=None)
    assert (
        snapshot_pruning.prune_snapshots(DB) == 1 and not FileSnapshot.objects.using(DB).filter(id=version.id).exists()
    )


def test_what_was_written_into_a_displaced_file_is_no_change_of_the_file(ada, file):
    """An import does not take it for the content of the file.

    It does when somebody writes just that content later.
    """
    create_write(file, 1, b"a\n", b"b\n")
    agent = os.open(file, os.O_WRONLY)
    with faults.before_file_event(
        "open", lambda path: path.endswith(".rollback"), lambda: os.pwrite(agent, b"late\n", 0)
    ):
        assert roll_back(ada, 1).meanwhile
    os.close(agent)
    later = 4_000_000_000_000
    assert not services.store_version(DB, NAME, b"a\n", modified_ms=later)
    snapshot_matching.match_snapshots(DB, NAME)
    unreported = WriteGuardianAudit.objects.using(DB).filter(origin="unattributed")
    assert not unreported.exists() and read_version_bytes(versions.find_newest(ada, NAME)) == b"a\n"
    assert services.store_version(DB, NAME, b"late\n", modified_ms=later)
    snapshot_matching.match_snapshots(DB, NAME)
    assert unreported.get().before_snapshot.content == "a\n"
