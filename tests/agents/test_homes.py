"""Files of an OpenClaw folder are opened below that folder only.

This holds also while somebody exchanges a part of the path.
"""

import os

import pytest

from agents.homes import NotReadable, open_regular
from tests import faults


@pytest.fixture
def root(tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary.md").write_text("secret")
    root = tmp_path / "workspace"
    (root / "memory").mkdir(parents=True)
    (root / "memory" / "diary.md").write_text("harmless")
    return root


def exchange(root):
    """Replace a folder with a link to a private one, as an agent may do."""
    (root / "memory").rename(root / "away")
    (root / "memory").symlink_to(root.parent / "private")


def read(root, name="memory/diary.md", **how):
    with open_regular(root, root / name, **how) as file:
        return file.read()


def test_a_link_in_the_path_is_not_followed(root):
    assert read(root) == b"harmless"
    exchange(root)
    with pytest.raises(NotReadable, match="a folder in the path is a link"):
        read(root)
    with pytest.raises(NotReadable, match="a folder in the path is a link"):
        read(root, "../private/diary.md")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("link.md", "link"),
        ("second-name.md", "hard link"),
        ("auth-profiles.json", "secrets"),
        ("credentials/diary.md", "secrets"),
    ],
)
def test_what_may_be_a_secret_is_not_opened(root, name, reason):
    private = root.parent / "private"
    (root / "link.md").symlink_to(private / "diary.md")
    (private / "key").write_text("secret")
    (root / "second-name.md").hardlink_to(private / "key")
    (root / "auth-profiles.json").write_text("{}")
    (root / "credentials").mkdir()
    (root / "credentials" / "diary.md").write_text("secret")
    with pytest.raises(NotReadable, match=reason):
        read(root, name)


@pytest.mark.parametrize("moment", ["workspace", "memory", "diary.md"])
def test_a_folder_that_is_exchanged_for_a_link_meanwhile_leads_nowhere(root, moment):
    with faults.before_file_event("open", lambda path: path.endswith(moment), lambda: exchange(root)):
        try:
            content = read(root)
        except NotReadable:
            content = b""
    assert content in (b"harmless", b"") and (root / "memory").is_symlink()


def test_folders_that_may_only_be_passed_through_will_do(root):
    (root / "memory").chmod(0o311)
    assert read(root) == b"harmless"


def test_the_folder_itself_may_be_reached_by_a_link(root):
    link = root.parent / "link"
    link.symlink_to(root)
    assert read(link) == b"harmless"
    with pytest.raises(NotReadable):
        read(root.parent / "workspace" / "memory", "none.md")
    os.mkfifo(root / "pipe")
    with pytest.raises(NotReadable, match="not a regular file"):
        read(root, "pipe")
