"""Writes as they are told: versions, diffs and hunks are kept with them, and told twice is told once."""

import pytest

from guardian.exact import NotExact, data_of
from guardian.models import FileSnapshot, WriteGuardianAudit
from guardian.recording import storing
from guardian.recording.told import FileChange, Source, Told

DB, T0 = "agent_ada", 1_770_000_000_000
pytestmark = pytest.mark.django_db


def told(number, before, after, *, body="1", **columns):
    row = WriteGuardianAudit(
        id=f"w{number}", session_id="s1", target_file="MEMORY.md", candidate_fact="Likes tea.", status="written",
        created_at=T0 + 1000 * number, **columns,
    )  # fmt: skip
    return Told(row, Source.API, FileChange(before, after), body_sha256=body, told_by="plugin")


def rows():
    return WriteGuardianAudit.objects.using(DB).order_by("created_at")


def test_a_version_that_is_the_newest_is_used_again_and_a_return_is_a_new_one(ada):
    storing.store(DB, [told(1, None, b"one\n"), told(2, b"one\n", b"two\n"), told(3, b"two\n", b"one\n")])
    first, second, third = rows()
    assert first.before_snapshot is None and first.after_snapshot == second.before_snapshot
    assert third.after_snapshot != first.after_snapshot
    assert FileSnapshot.objects.using(DB).count() == 3


def test_versions_that_lack_bytes_or_are_damaged_are_refused(ada):
    storing.store(DB, [told(1, b"\xff\n", b"fine\n")])
    row = rows().get()
    FileSnapshot.objects.using(DB).filter(id=row.before_snapshot_id).update(raw=None)
    FileSnapshot.objects.using(DB).filter(id=row.after_snapshot_id).update(content="other\n")
    row = rows().get()
    for version in (row.before_snapshot, row.after_snapshot):
        with pytest.raises(NotExact, match="damaged"):
            data_of(version)
