"""Files that somebody changed, planted or cut short, and disks without room."""

import errno
import gzip
import io
import os
import resource
import signal

import pytest

from artifacts import services
from artifacts.errors import DamagedArtifact, NoRoom, NoSuchArtifact
from artifacts.excerpts import content_fetch
from artifacts.excerpts.selectors import Selector
from artifacts.models import Artifact
from artifacts.store import blobs, garbage, layout, verification
from openclaw_web.errors import Refused
from tests import faults

pytestmark = pytest.mark.django_db
DB = "agent_ada"


def stash(content=b"a line\n" * 300, **options):
    row, stored = services.stash(DB, content, **options)
    return row, stored.sha256


def blob_path(root, sha256, *, is_compressed=False):
    return root / layout.blob_name(sha256, is_compressed=is_compressed)


def fetch(row, **selector):
    return content_fetch.fetch(DB, row.handle, Selector(**selector))


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("change", ["flip", "cut", "grow", "empty"])
def test_a_changed_blob_is_never_shown(root, change, is_compressed):
    row, sha256 = stash(is_compressed=is_compressed)
    path = blob_path(root, sha256, is_compressed=is_compressed)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    if change == "flip":
        data[middle] ^= 1
    else:
        data = {"cut": data[:middle], "grow": data + b"more", "empty": b""}[change]
    path.write_bytes(data)
    for selector in ({}, {"mode": "tail"}, {"mode": "grep", "pattern": "line"}, {"mode": "range", "lines": "1"}):
        with pytest.raises(DamagedArtifact):
            fetch(row, **selector)
    problems = verification.verify([sha256]).problems
    assert [problem["id"] for problem in problems] == [row.handle]


def test_the_ends_of_a_long_blob_are_only_shown_when_its_size_is_right(root, monkeypatch):
    monkeypatch.setattr(content_fetch, "WHOLE_BYTES", 100)
    row, sha256 = stash()
    assert fetch(row, max_chars=20).verified == "size"
    with blob_path(root, sha256).open("ab") as file:
        file.write(b"!")
    with pytest.raises(DamagedArtifact):
        fetch(row)


@pytest.mark.parametrize("damaged", [b"short", b"A LINE\n" * 300])
def test_stashing_again_heals_and_keeps_what_was_first(root, damaged):
    row, sha256 = stash(meta={"first": True})
    blob_path(root, sha256).write_bytes(damaged)
    _row, stored = services.stash(DB, b"a line\n" * 300, meta={"first": False}, is_compressed=True)
    assert (stored.is_new, stored.meta) == (True, {"first": True})
    assert fetch(row, mode="head", max_chars=6).text == "a line"
    assert verification.verify([sha256]).problems == []


@pytest.mark.parametrize("damage", ["missing", "no json", "another", "huge"])
def test_a_blob_without_its_metadata_can_be_read(root, damage):
    row, sha256 = stash(meta={"a": 1})
    path = root / layout.meta_name(sha256)
    wrong = {"no json": b"{", "another": b'{"sha256": "00", "createdAt": ""}', "huge": b"[" * 2_000_000}
    path.unlink()
    if damage in wrong:
        path.write_bytes(wrong[damage])
    assert fetch(row, mode="head", max_chars=6).text == "a line"
    assert content_fetch.peek(DB, row.handle)["meta"] == {"a": 1}
    assert "metadata" in verification.verify([sha256]).problems[0]["reason"]
    services.stash(DB, b"a line\n" * 300)
    assert verification.verify([sha256]).problems == []


def test_metadata_without_its_blob_says_so(root):
    row, sha256 = stash()
    blob_path(root, sha256).unlink()
    with pytest.raises(NoSuchArtifact, match="is missing"):
        fetch(row)
    assert list(verification.list_all_contents(DB)) == [sha256]
    assert "is missing" in verification.verify([sha256]).problems[0]["reason"]


def plant(path, kind, target):
    path.unlink(missing_ok=True)
    if kind == "symlink":
        path.symlink_to(target)
    elif kind == "hard link":
        os.link(target, path)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()


@pytest.mark.parametrize("kind", ["symlink", "hard link", "fifo", "folder"])
def test_what_is_no_plain_file_is_not_opened(root, tmp_path, kind):
    content = b"a line\n" * 300
    target = tmp_path / "target"
    target.write_bytes(content)  # even with the right content behind it
    row, sha256 = stash(content)
    plant(blob_path(root, sha256), kind, target)
    with pytest.raises(DamagedArtifact):
        fetch(row)
    assert target.read_bytes() == content


@pytest.mark.parametrize("kind", ["symlink", "hard link", "fifo"])
def test_metadata_that_is_no_plain_file_is_not_read(root, tmp_path, kind):
    row, sha256 = stash(meta={"true": 1})
    target = tmp_path / "target"
    target.write_bytes((root / layout.meta_name(sha256)).read_bytes().replace(b"true", b"false"))
    plant(root / layout.meta_name(sha256), kind, target)
    assert content_fetch.peek(DB, row.handle)["meta"] == {"true": 1}


def test_stashing_over_a_planted_link_replaces_the_link_only(root, tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"not ours")
    row, sha256 = stash()
    plant(blob_path(root, sha256), "symlink", target)
    stash()
    assert fetch(row, mode="head", max_chars=6).text == "a line"
    assert target.read_bytes() == b"not ours"


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_folder_that_is_a_link_is_not_followed(root, tmp_path, depth):
    row, sha256 = stash()
    folder = root.joinpath(*layout.blob_name(sha256, is_compressed=False).split("/")[:depth])
    elsewhere = tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    with pytest.raises(DamagedArtifact):
        fetch(row)
    with pytest.raises(Refused):
        stash()
    Artifact.objects.using(DB).all().delete()
    garbage.collect(garbage.GarbageResult(is_dry_run=False))
    assert [path.name for path in elsewhere.rglob("*.txt")] == [f"{sha256}.txt"]


def test_a_bomb_is_not_unpacked(root):
    row, sha256 = stash(is_compressed=True)
    path = blob_path(root, sha256, is_compressed=True)
    path.write_bytes(gzip.compress(b"\0" * 200_000_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DamagedArtifact, match="more data than was stored"):
        fetch(row)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000  # kB


def test_a_bomb_in_members_is_not_unpacked_either(root):
    row, sha256 = stash(is_compressed=True)
    path = blob_path(root, sha256, is_compressed=True)
    path.write_bytes(gzip.compress(b"a line\n" * 300) + gzip.compress(b"\0" * 1000) * 500)
    with pytest.raises(DamagedArtifact):
        fetch(row)


def test_several_gzip_members_are_one_content(root):
    content = b"a line\n" * 300
    row, sha256 = stash(content, is_compressed=True)
    path = blob_path(root, sha256, is_compressed=True)
    path.write_bytes(gzip.compress(content[:1000]) + gzip.compress(content[1000:]))
    assert fetch(row).text == content.decode()


@pytest.fixture
def no_room():
    """Files cannot grow past 64 kB, as on a full disk or under a quota.

    The error comes from the kernel itself.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_is_a_sentence_and_nothing_half_done(root, no_room):
    with pytest.raises(NoRoom, match=r"no space left\. Nothing was stored"):
        stash(os.urandom(200_000))
    assert not Artifact.objects.using(DB).exists()
    assert [path.name for path in root.rglob("*") if path.is_file()] == [".adopting.lock"]


def test_a_full_disk_in_a_batch_keeps_nothing_of_what_was_not_finished(root, no_room):
    with pytest.raises(NoRoom), services.open_stash_batch(DB) as batch:
        batch.add(b"small")
        batch.add(os.urandom(200_000))
    assert not Artifact.objects.using(DB).exists()
    assert not list(root.glob("tmp/*"))


def test_metadata_that_finds_no_room_takes_its_blob_with_it(root):
    drafts = []

    def second_fails(event, path):
        if event == "open" and path.startswith(str(root / "tmp")):
            drafts.append(path)
            if len(drafts) == 2:
                raise OSError(errno.ENOSPC, "No space left on device")

    with faults.watch_files(second_fails), pytest.raises(NoRoom, match="no space left"):
        stash()
    assert len(drafts) == 2
    assert not list(root.glob("tmp/*"))


def test_a_store_that_cannot_be_written_is_a_sentence(root):
    (root / "blobs").write_text("a file where a folder should be")
    with pytest.raises(Refused):
        stash()
    assert not Artifact.objects.using(DB).exists()
    assert not list(root.glob("tmp/*"))


def test_more_than_the_most_is_refused(root, monkeypatch):
    monkeypatch.setattr(blobs, "MAX_BYTES", 1000)
    with pytest.raises(NoRoom):
        stash(io.BytesIO(b"x" * 1001))
    assert not list(root.glob("tmp/*"))
