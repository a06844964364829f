"""Changes that OpenClaw's records name: writes of the agent, with session and turn."""

import os

import pytest

from guardian.models import WriteGuardianAudit
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import run
from tests.homes import assistant, user
from tests.problems.check_results import check
from tests.sqlite_homes import T0

from .recorded_homes import RecordedHome

pytestmark = pytest.mark.django_db
AT = T0 + 10_000  # when the agent wrote


@pytest.fixture
def home(tmp_path, real_files):
    home = RecordedHome(tmp_path / "openclaw")
    write(home, "one\n", T0 - 3_600_000)
    home.session("w1", user("Write this down."), assistant("Done."), key="agent:main:w1")
    run(home)
    return home


def write(home, text, at):
    os.utime(home.file("MEMORY.md", text), ns=(at * 1_000_000, at * 1_000_000))


def only(agent="main"):
    return WriteGuardianAudit.objects.using(f"agent_{agent}").get()


def test_it_works(home):
    write(home, "two\n", AT)
    home.record("MEMORY.md", "two\n", at=AT + 20, session="w1")
    assert run(home)["guardian"]["unattributed"] == 0
    row = only()
    assert (row.origin, row.session_id, row.session_key) == ("agent", "w1", "agent:main:w1")
    assert row.turn_id is not None and (row.lines_added, row.lines_removed) == (1, 1)
    run(home, again=True)
    assert only().id == row.id and only().origin == "agent"


def test_a_record_that_comes_later_names_the_change(home):
    write(home, "two\n", AT)
    assert run(home)["guardian"]["unattributed"] == 1
    assert only().origin == "unattributed"
    home.record("MEMORY.md", "two\n", at=AT + 20, session="w1")
    run(home)
    assert (only().origin, only().session_id) == ("agent", "w1")


@pytest.mark.parametrize(
    ("text", "at", "fields"),
    [
        ("three\n", AT, {}),  # another content
        ("two\n", AT + 120_000, {}),  # long after the change
        ("two\n", T0 - 7_200_000, {}),  # before it
        ("two\n", AT, {"version": 2}),
        ("two\n", AT, {"sessionKey": "agent:other:w1"}),
    ],
)
def test_what_no_record_names_stays_unreported(home, text, at, fields):
    write(home, "two\n", AT)
    home.record("MEMORY.md", text, at=at, session="w1", **fields)
    run(home)
    assert only().origin == "unattributed"


def test_agents_that_share_a_workspace_have_the_write_once(tmp_path, real_files):
    home = RecordedHome(tmp_path / "openclaw", ("alpha", "main"))
    shared = {"workspace": str(home.workspace())}
    home.write("openclaw.json", {"agents": {"entries": {"alpha": shared, "main": shared}}})
    write(home, "one\n", T0 - 3_600_000)
    home.session("w1", user("Write this down."), assistant("Done."), key="agent:main:w1")
    home.session("a1", user("Hi"), agent="alpha", key="agent:alpha:a1")
    run(home)
    write(home, "two\n", AT)
    home.record("MEMORY.md", "two\n", at=AT + 20, session="w1")
    assert run(home)["guardian"]["unattributed"] == 0
    assert only().origin == "agent"
    assert not WriteGuardianAudit.objects.using("agent_alpha").exists()


def test_an_agents_own_write_is_no_problem_and_no_segment_of_unreported_changes(home, as_admin):
    write(home, "two\n", AT)
    home.record("MEMORY.md", "two\n", at=AT + 20, session="w1")
    run(home)
    page = as_admin.get("/agents/main/writes/?segment=unattributed").text
    assert "Nothing in “Unattributed”" in page
    assert only().id not in page
    assert only().id in as_admin.get("/agents/main/writes/?segment=told").text
    detail = as_admin.get(only().get_absolute_url()).text
    assert "OpenClaw's record names this write" in detail and "no write was recorded" not in detail
    assert not [sentence for sentence in check() if "known author" in sentence]


def test_a_change_in_a_turn_of_somebody_who_opted_out_stays_without_it(home):
    configuration.put("collector.optedOutSenders", ["bob"])
    write(home, "two\n", AT)
    home.record("MEMORY.md", "two\n", at=AT + 20, session="elsewhere")
    run(home)
    assert only().origin == "unattributed" and only().turn_id is None
