"""Writing into a workspace: links, second names, writers in between, rights, folders that cannot be written."""

import os
import stat

import pytest

from guardian.rollbacks import workspace
from guardian.rollbacks.workspace import NotWritten

NAME, DRAFT = "MEMORY.md", ".MEMORY.md.draft"


@pytest.fixture
def place(tmp_path):
    folder = tmp_path.resolve() / "workspace"
    folder.mkdir()
    return folder


def put(place, data, *, was=b"old"):
    """Exchange a file as a rollback does; what was displaced."""
    (place / NAME).write_bytes(was)
    with workspace.opened(place) as folder:
        held = folder.held(NAME)
        folder.write_draft(DRAFT, data, held)
        folder.exchange(DRAFT, NAME)
        displaced = folder.displaced(DRAFT)
        held.close()
        return displaced


@pytest.mark.parametrize("data", [b"new\n", b"", b"\xff\x00\r\n", b"x" * 1_000_000])
def test_every_byte_is_written_and_what_was_there_is_kept(place, data):
    displaced = put(place, data, was=b"before\xfe")
    assert (place / NAME).read_bytes() == data
    assert displaced.data == displaced.now() == (place / DRAFT).read_bytes() == b"before\xfe"
    displaced.close()


def test_mode_and_attributes_stay(place):
    (place / NAME).write_bytes(b"old")
    (place / NAME).chmod(0o640)
    os.setxattr(place / NAME, "user.tag", b"mine")
    with workspace.opened(place) as folder:
        held = folder.held(NAME)
        folder.write_draft(DRAFT, b"new", held)
        folder.exchange(DRAFT, NAME)
        held.close()
    assert stat.S_IMODE((place / NAME).stat().st_mode) == 0o640
    assert os.getxattr(place / NAME, "user.tag") == b"mine"


def test_a_file_never_runs_as_its_owner(place):
    (place / NAME).write_bytes(b"old")
    (place / NAME).chmod(0o6750)
    with workspace.opened(place) as folder:
        held = folder.held(NAME)
        folder.write_draft(DRAFT, b"new", held)
        held.close()
    assert stat.S_IMODE((place / DRAFT).stat().st_mode) == 0o750


def test_who_writes_to_the_displaced_file_is_seen(place):
    (place / NAME).write_bytes(b"old")
    agent = os.open(place / NAME, os.O_WRONLY)
    displaced = put(place, b"new")
    os.pwrite(agent, b"late words", 0)
    os.close(agent)
    assert displaced.now() == b"late words" and displaced.data == b"old"
    assert (place / NAME).read_bytes() == b"new"
    displaced.close()


def test_a_file_that_is_not_there_is_created_and_none_is_replaced(place):
    with workspace.opened(place) as folder:
        assert folder.held(NAME) is None
        folder.write_draft(DRAFT, b"first", None)
        assert folder.create(DRAFT, NAME)
        folder.write_draft(DRAFT, b"second", None)
        assert not folder.create(DRAFT, NAME)
    assert (place / NAME).read_bytes() == b"first" and (place / DRAFT).read_bytes() == b"second"


def test_a_file_that_is_moved_aside_is_kept(place):
    (place / NAME).write_bytes(b"old")
    with workspace.opened(place) as folder:
        folder.move_aside(NAME, DRAFT)
    assert not (place / NAME).exists() and (place / DRAFT).read_bytes() == b"old"


def _link(place):
    (place / "other").write_bytes(b"key")
    (place / NAME).symlink_to(place / "other")


def _second_name(place):
    (place / NAME).write_bytes(b"x")
    os.link(place / NAME, place / "again")


@pytest.mark.parametrize(
    "make",
    [_link, _second_name, lambda place: (place / NAME).mkdir(), lambda place: os.mkfifo(place / NAME),
     lambda place: (place / NAME).write_bytes(b"x" * (workspace.MOST_BYTES + 1))],
)  # fmt: skip
def test_what_is_no_plain_file_is_refused(place, make):
    make(place)
    before = len(os.listdir("/proc/self/fd"))
    with workspace.opened(place) as folder, pytest.raises(NotWritten) as refused:
        folder.held(NAME)
    assert NAME in refused.value.sentence
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("name", ["AGENTS.md", "../MEMORY.md", "memory/2026-01-01.md", "MEMORY.md/", ""])
def test_other_files_are_refused(place, name):
    with workspace.opened(place) as folder, pytest.raises(NotWritten):
        folder.held(name)


def test_links_on_the_way_are_refused(place):
    (place.parent / "way").symlink_to(place.parent)
    with pytest.raises(NotWritten, match="is a link"), workspace.opened(place.parent / "way" / "workspace"):
        pass
    with pytest.raises(NotWritten), workspace.opened(place / ".." / "workspace"):
        pass
    with pytest.raises(NotWritten), workspace.opened(place / "nowhere"):
        pass


def test_a_draft_that_cannot_be_written_leaves_nothing(place):
    (place / NAME).write_bytes(b"old")
    with workspace.opened(place) as folder:
        held = folder.held(NAME)
        (place / DRAFT).write_bytes(b"somebody's")
        with pytest.raises(NotWritten):
            folder.write_draft(DRAFT, b"new", held)
        held.close()
    assert (place / DRAFT).read_bytes() == b"somebody's" and (place / NAME).read_bytes() == b"old"
