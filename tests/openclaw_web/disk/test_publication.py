"""Homes on file systems that refuse hard links or modes, such as exFAT."""

import errno
import os

import pytest

from agents import databases
from openclaw_web.disk import publication
from tests import faults
from tests.collecting.collect_runs import count_events, run
from tests.homes import Home, user


@pytest.fixture
def refused():
    """A file system that answers like exFAT: no second names, no modes."""
    refusals = []

    def answer(event, path):
        if event in ("os.link", "os.chmod"):
            refusals.append(event)
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)

    with faults.watch_files(answer):
        yield refusals


@pytest.mark.django_db
def test_agents_are_imported_where_links_and_modes_are_refused(real_files, refused, tmp_path):
    home = Home(tmp_path / "openclaw")
    home.transcript(user("Hello"))
    assert run(home)["records"] == 2 and count_events("user") == 1
    assert {"os.link", "os.chmod"} <= set(refused)
    with pytest.raises(databases.AgentExists):
        databases.create("main")


def test_who_comes_first_keeps_the_name(refused, tmp_path):
    for text in ("first", "second"):
        (tmp_path / text).write_text(text)
    publication.publish(tmp_path / "first", tmp_path / "name")
    with pytest.raises(FileExistsError):
        publication.publish(tmp_path / "second", tmp_path / "name")
    assert (tmp_path / "name").read_text() == "first"
    publication.restrict(tmp_path / "name", 0o600)


def test_other_failures_are_not_passed_over(tmp_path):
    with pytest.raises(FileNotFoundError):
        publication.publish(tmp_path / "none", tmp_path / "name")
    with pytest.raises(FileNotFoundError):
        publication.restrict(tmp_path / "none", 0o600)
