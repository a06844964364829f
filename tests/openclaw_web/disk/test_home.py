"""Problems of a folder that should be the home. tests/installation/test_bad_input.py has them as real starts."""

import os

import pytest

from openclaw_web.disk import home


def test_a_usual_folder_has_no_problem_and_is_not_created(tmp_path):
    assert home.find_problem(tmp_path / "new" / "home") == ""
    assert not (tmp_path / "new").exists()


def test_the_longest_path_that_is_accepted_holds_a_database(tmp_path):
    folder = tmp_path
    while len(os.fsencode(folder)) < home.LONGEST - 150:
        folder /= "x" * 100
    folder /= "ü" * ((home.LONGEST - len(os.fsencode(folder)) - 1) // 2)
    assert home.find_problem(folder) == ""
    assert "too long" in home.find_problem(folder.with_name(f"{folder.name}üü"))
    longest = folder / "agents" / ("a" * 56) / "agent" / "openclaw-agent.sqlite-journal"
    assert len(os.fsencode(longest)) < 512  # of SQLite: MAX_PATHNAME


def test_a_link_is_followed_to_a_folder_only(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    assert "does not exist" in home.find_problem(tmp_path / "link")
    (tmp_path / "folder").mkdir()
    assert home.find_problem(tmp_path / "link") == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could work in the home of another user")
def test_root_works_in_its_own_folders_only(tmp_path):
    os.chown(tmp_path, 12345, 12345)
    for folder in (tmp_path, tmp_path / "new" / "home"):
        problem = home.find_problem(folder)
        assert "belongs to #12345" in problem  # a number without an account
        assert "(sudo -u '#12345' -H openclaw-web" in problem  # unquoted, it would begin a comment
