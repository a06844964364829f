"""Long contents and diffs are stored once, and read as if they were in each row.

It does not matter which source reported them.
"""

import pytest
from django.db import connections

from guardian import services
from guardian.models import FileContent, FileSnapshot, WorkspaceFile, WriteGuardianAudit
from guardian.recording import checks, snapshot_pruning
from guardian.services import DamagedVersion, read_version_bytes
from people.configuration import setting_values as configuration
from tests.guardian.write_rows import T0, create_write

pytestmark = pytest.mark.django_db
DB = "agent_ada"
LONG = [b"".join(b"- fact %d of %s\n" % (number, name) for number in range(2_000)) for name in (b"tea", b"milk")]


def stored_bytes():
    rows = FileContent.objects.using(DB)
    return sum(len(row.text) + len(row.raw or b"") for row in rows)


def test_the_same_two_versions_over_and_over_are_two_contents(ada):
    for number in range(20):
        create_write(DB, number, *LONG)
    assert FileSnapshot.objects.using(DB).count() == 40
    assert stored_bytes() < 6 * sum(map(len, LONG))  # with the diffs there and back
    for row in WriteGuardianAudit.objects.using(DB).filter(origin="recorded"):
        assert (row.before_snapshot.content, row.after_snapshot.content) == (LONG[0].decode(), LONG[1].decode())
        assert row.diff.startswith("--- a/MEMORY.md") and row.lines_added == 2_000
    assert list(checks.damaged_snapshots(DB)) == list(checks.find_wrong_diffs(DB)) == []


def test_bytes_that_are_no_text_and_texts_that_look_like_a_reference_come_back_as_they_were(ada):
    odd = [b"\xff" * 5_000, b"sha256:" + b"0" * 64, b"sha256:", b"\xff" + b"sha256:", b"a\0b" * 900, b"x" * 999, b""]
    for number, data in enumerate(odd):
        services.store_version(DB, "USER.md", data, modified_ms=T0 + number)
        services.store_version(DB, "AGENTS.md", data, modified_ms=T0 + number)
    for model in (FileSnapshot, WorkspaceFile):
        rows = list(model.objects.using(DB).order_by("created_at"))
        assert [bytes(row.raw) if row.is_lossy else row.content.encode() for row in rows] == odd
        assert list(model.objects.using(DB).order_by("created_at").values_list("content", flat=True)) == [
            row.content for row in rows
        ]
    assert list(checks.damaged_snapshots(DB)) == []


def test_versions_from_before_are_read_in_place(ada):
    services.store_version(DB, "USER.md", LONG[0], modified_ms=T0)
    with connections[DB].cursor() as cursor:
        cursor.execute("UPDATE file_snapshots SET content = %s", [LONG[0].decode()])
        cursor.execute("DELETE FROM file_contents")
    assert FileSnapshot.objects.using(DB).get().content == LONG[0].decode()
    assert list(checks.damaged_snapshots(DB)) == []


def test_a_content_that_is_gone_or_damaged_is_found_and_diffs_are_made_again(ada):
    create_write(DB, 1, *LONG)
    write = WriteGuardianAudit.objects.using(DB).get(id="w1")
    with connections[DB].cursor() as cursor:
        cursor.execute("UPDATE file_contents SET text = 'x' WHERE text LIKE '--- a/%%'", [])
    assert list(checks.find_wrong_diffs(DB)) == ["w1"]
    assert checks.mend_diffs(DB, ["w1"]) == 1
    assert WriteGuardianAudit.objects.using(DB).get(id="w1").diff == write.diff
    FileContent.objects.using(DB).filter(id=write.before_snapshot.content_hash).delete()
    assert list(checks.damaged_snapshots(DB)) == [write.before_snapshot_id]


def test_contents_go_with_the_last_version_that_has_them(ada):
    configuration.put("writeGuardianAuditing.maxSnapshotsPerFile", 1)
    create_write(DB, 1, *LONG)
    held = FileContent.objects.using(DB).count()
    for number, data in enumerate([LONG[0] + b"new\n", b"\xff" * 5_000, LONG[1]]):
        services.store_version(DB, "MEMORY.md", data, modified_ms=T0 + 100_000 + number)
    assert FileContent.objects.using(DB).count() == held + 3
    assert snapshot_pruning.prune_snapshots(DB) == 2
    assert FileContent.objects.using(DB).count() == held
    assert list(checks.damaged_snapshots(DB)) == []


def test_a_version_that_is_the_newest_is_used_again_and_a_return_is_a_new_one(ada):
    first = create_write(DB, 1, None, b"one\n")
    second, third = create_write(DB, 2, b"one\n", b"two\n"), create_write(DB, 3, b"two\n", b"one\n")
    assert first.before_snapshot is None and first.after_snapshot == second.before_snapshot
    assert third.after_snapshot != first.after_snapshot
    assert FileSnapshot.objects.using(DB).count() == 3


def test_versions_that_lack_bytes_or_are_damaged_are_refused(ada):
    row = create_write(DB, 1, b"\xff\n", b"fine\n")
    FileSnapshot.objects.using(DB).filter(id=row.before_snapshot_id).update(raw=None)
    FileSnapshot.objects.using(DB).filter(id=row.after_snapshot_id).update(content="other\n")
    row = WriteGuardianAudit.objects.using(DB).get(id=row.id)
    for version in (row.before_snapshot, row.after_snapshot):
        with pytest.raises(DamagedVersion, match="damaged"):
            read_version_bytes(version)
