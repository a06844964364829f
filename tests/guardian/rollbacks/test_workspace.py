"""Writing into a workspace: links, second names, writers in between, rights, folders that cannot be written."""

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


def test_a_file_never_runs_as_its_owner(place):
    (place / NAME).write_bytes(b"old")
    (place / NAME).chmod(0o6750)
    with workspace.open_workspace(place) as folder:
        held = folder.open_file(NAME)
        folder.write_draft(DRAFT, b"new", held)
        held.close()
    assert stat.S_IMODE((place / DRAFT).stat().st_mode) == 0o750


def test_a_file_that_is_not_there_is_created_and_none_is_replaced(place):
    with workspace.open_workspace(place) as folder:
        assert folder.open_file(NAME) is None
        folder.write_draft(DRAFT, b"first", None)
        assert folder.create(DRAFT, NAME)
        folder.write_draft(DRAFT, b"second", None)
        assert not folder.create(DRAFT, NAME)
    assert (place / NAME).read_bytes() == b"first" and (place / DRAFT).read_bytes() == b"second"


def test_a_file_that_is_moved_aside_is_kept(place):
    (place / NAME).write_bytes(b"old")
    with workspace.open_workspace(place) as folder:
        folder.move_aside(NAME, DRAFT)
    assert not (place / NAME).exists() and (place / DRAFT).read_bytes() == b"old"


@pytest.mark.parametrize("name", ["AGENTS.md", "../MEMORY.md", "memory/2026-01-01.md", "MEMORY.md/", ""])
def test_other_files_are_refused(place, name):
    with workspace.open_workspace(place) as folder, pytest.raises(NotWritten):
        folder.open_file(name)


def test_links_on_the_way_are_refused(place):
    (place.parent / "way").symlink_to(place.parent)
    with pytest.raises(NotWritten, match="is a link"), workspace.open_workspace(place.parent / "way" / "workspace"):
        pass
    with pytest.raises(NotWritten), workspace.open_workspace(place / ".." / "workspace"):
        pass
    with pytest.raises(NotWritten), workspace.open_workspace(place / "nowhere"):
        pass


def test_a_draft_that_cannot_be_written_leaves_nothing(place):
    (place / NAME).write_bytes(b"old")
    with workspace.open_workspace(place) as folder:
        held = folder.open_file(NAME)
        (place / DRAFT).write_bytes(b"somebody's")
        with pytest.raises(NotWritten):
            folder.write_draft(DRAFT, b"new", held)
        held.close()
    assert (place / DRAFT).read_bytes() == b"somebody's" and (place / NAME).read_bytes() == b"old"
