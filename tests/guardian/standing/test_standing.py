"""Where memory files stand with OpenClaw: in generated homes, and in a recorded one."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from agents.models import Agent
from guardian import standing
from guardian.files import MEMORY_FILES
from guardian.models import ProvenanceRecord
from guardian.standing.words import standing_sentence
from tests.collecting.collect_runs import run
from tests.guardian.write_rows import create_write
from tests.problems.check_results import check
from tests.sqlite_homes import CANARY, T0

from .recorded_homes import RecordedHome

pytestmark = pytest.mark.django_db
DEMOTED = Path(__file__).resolve().parents[4] / "shared" / "data" / "openclaw-2026.9.6-demoted"
LATER = T0 + 10**12  # after every file of a test was written


@pytest.fixture
def home(tmp_path, real_files):
    return RecordedHome(tmp_path / "openclaw")


def state_of(name="MEMORY.md", agent="main"):
    return standing.read_standing(Agent.objects.get(agent_id=agent), name)


def test_it_works(home):
    home.file("MEMORY.md", "one\n")
    home.record("MEMORY.md", "one\n").secret().prompt([("MEMORY.md", 3, 3)], at=LATER)
    assert run(home)["schedules"]["provenance"] == 1
    file_standing = state_of()
    assert (file_standing.state, file_standing.injected_chars, file_standing.raw_chars, file_standing.is_equal) == (
        "in_prompt",
        3,
        3,
        True,
    )
    assert (file_standing.session_key, file_standing.since, file_standing.report_session_id) == (
        "agent:main:w1",
        T0,
        "p1",
    )
    assert "forecast" not in standing_sentence(file_standing)
    os.utime(home.workspace() / "MEMORY.md", (LATER // 1000 + 60,) * 2)
    assert "This is a forecast: the newest prompt" in standing_sentence(state_of())  # older than the file
    assert CANARY not in str(list(ProvenanceRecord.objects.using("agent_main").values()))


def test_lines_that_no_prompt_holds_yet_say_so(home, as_stranger):
    home.file("MEMORY.md", "one\ntwo\nthree\n")
    home.prompt([("MEMORY.md", 3, 3)], at=LATER)
    run(home)
    create_write("agent_main", 1, b"one\n", b"one\ntwo\n")
    create_write("agent_main", 2, b"one\ntwo\n", b"one\ntwo\nthree\n", created_at=LATER + 1)
    page = as_stranger.get("/agents/main/files/MEMORY.md/").text
    assert page.count("In no prompt yet") == 1 and page.index("/writes/w2/") < page.index("In no prompt yet")
    for write, is_new in (("w1", False), ("w2", True)):
        write_page = as_stranger.get(f"/agents/main/writes/{write}/").text
        assert ("is older than this write" in write_page) == is_new and "In the agent" in write_page, write_page


@pytest.mark.parametrize(
    ("name", "text", "record", "listed", "expected", "lost"),
    [
        ("MEMORY.md", "one\n", ("one\n", "agent"), (3, 3), "in_prompt", 0),
        ("MEMORY.md", "one\n", None, (3, 3), "no_record", 0),
        ("SOUL.md", "one\n", None, (3, 3), "in_prompt", 0),
        ("MEMORY.md", "x" * 21_000, None, (21_000, 20_000), "cut", 1_000),
        ("USER.md", "x" * 5_000, ("x" * 5_000, "agent"), (5_000, 4_000), "cut", 1_000),
        ("USER.md", "x" * 5_000, None, (100, 100), "cut", 1_000),  # it grew since
        ("MEMORY.md", None, None, (0, 0, True), "missing", 0),
        ("MEMORY.md", None, ("one\n", "agent"), None, "missing", 0),
        ("MEMORY.md", "one\n", ("one\n", "untrusted"), None, "left_out", 3),
        ("USER.md", "two\n", ("one\n", "untrusted"), None, "left_out", 3),
        ("MEMORY.md", "two\n", ("one\n", "agent"), (3, 3), "will_be_left_out", 0),
        ("SOUL.md", "two\n", ("one\n", "agent"), (3, 3), "in_prompt", 0),
        ("MEMORY.md", "one\n", ("one\n", "stranger"), (3, 3), "not_known", 0),
        ("MEMORY.md", "one\n", None, None, "unexplained", 3),
        ("MEMORY.md", "one\n", ("one\n", "agent"), None, "unexplained", 3),
    ],
)
def test_states(home, name, text, record, listed, expected, lost):
    if text is not None:
        home.file(name, text)
    if record:
        home.record(name, *record)
    is_missing = listed == (0, 0, True)
    entry = {"name": name, "missing": True} if is_missing else (name, *(listed or ()))
    home.prompt([] if listed is None else [entry], at=LATER)
    run(home)
    file_standing = state_of(name)
    assert (file_standing.state, file_standing.lost_chars) == (expected, lost)


def test_without_an_ordinary_report_nothing_is_said_of_the_prompt(home):
    home.file("MEMORY.md", "one\n")
    home.prompt([], at=LATER, session="c", key="agent:main:cron:job")
    home.prompt([], at=LATER, session="s", key="agent:main:subagent:x")
    home.prompt([], at=LATER, session="g", key="agent:main:irc:group:room")
    home.prompt([], at=LATER, session="w", workspaceDir="/srv/another")
    home.prompt([("MEMORY.md", 3, 3)], at=LATER - 1, session="n")
    run(home)
    assert state_of().report_session_id == "n"
    assert state_of("SOUL.md").state == "missing"


def test_no_report(home):
    home.file("MEMORY.md", "one\n")
    home.record("MEMORY.md", "one\n").prompt([], session="c", key="agent:main:cron:job")
    run(home)
    assert state_of().state == "no_report"


def test_a_file_from_after_the_report_is_not_unexplained(home):
    home.prompt([])
    home.file("MEMORY.md", "one\n")
    run(home)
    assert state_of().state == "no_report"


def test_a_link_is_named(home, tmp_path):
    (tmp_path / "other.md").write_text("one\n")
    (home.workspace() / "MEMORY.md").symlink_to(tmp_path / "other.md")
    home.record("MEMORY.md", "two\n").prompt([], at=LATER)
    run(home)
    assert state_of().state == "linked"


def test_an_untrusted_file_that_a_later_prompt_holds_is_in_the_prompt(home):
    home.file("MEMORY.md", "one\n")
    home.record("MEMORY.md", "one\n", "untrusted").prompt([("MEMORY.md", 3, 3)], at=LATER)
    run(home)
    assert state_of().state == "in_prompt"


def test_each_change_of_a_record_is_kept(home):
    home.file("MEMORY.md", "one\n")
    home.record("MEMORY.md", "one\n").record("USER.md", "u\n").prompt([])
    run(home)
    assert run(home)["schedules"]["provenance"] == 0
    home.record("MEMORY.md", "two\n", "untrusted", at=T0 + 5)
    assert run(home)["schedules"]["provenance"] == 1
    home.forget("MEMORY.md")
    assert run(home)["schedules"]["provenance"] == 1
    rows = ProvenanceRecord.objects.using("agent_main").filter(file_name="MEMORY.md").order_by("first_seen_at")
    states = [(row.state, row.origin_class) for row in rows]
    assert states == [("known", "agent"), ("known", "untrusted"), ("gone", "")]
    assert state_of().record is None and state_of("USER.md").record is not None


def test_agents_that_share_a_workspace_share_its_records(tmp_path, real_files):
    home = RecordedHome(tmp_path / "openclaw", ("main", "other", "third"))
    shared = {"workspace": str(home.workspace())}
    entries = {"main": shared, "other": shared, "third": {"workspace": str(home.workspace("third"))}}
    home.write("openclaw.json", {"agents": {"entries": entries}})
    home.file("MEMORY.md", "two\n")
    home.record("MEMORY.md", "one\n")
    for agent in ("main", "other", "third"):
        home.prompt([], agent=agent, workspaceDir=str(home.workspace("third" if agent == "third" else "main")))
    run(home)
    assert [state_of(agent=name).state for name in ("main", "other")] == ["will_be_left_out"] * 2
    assert state_of(agent="third").record is None


def test_a_record_of_an_earlier_workspace_is_not_of_the_present_one(home):
    home.record("MEMORY.md", "one\n", workspaceKey="x", at=T0 + 10)
    with home.state() as store:  # as in a copied home: the key fits no path
        store.execute("UPDATE plugin_state_entries SET entry_key = ? || substr(entry_key, 65)", ("e" * 64,))
    home.prompt([], at=T0 + 20, session="old", workspaceDir="/srv/claw/before")
    home.prompt([], at=T0 + 1_000_000, session="new")
    run(home)
    assert (state_of().state, state_of().record) == ("missing", None)
    home.record("MEMORY.md", "one\n", at=T0 + 1_000_001)
    run(home)
    assert state_of().record is not None


def test_one_problem_an_agent_names_who_wrote_last(home):
    home.file("MEMORY.md", "two\n")
    home.file("USER.md", "x" * 5_000)
    home.record("MEMORY.md", "one\n").prompt([("MEMORY.md", 3, 3), ("USER.md", 5_000, 4_000)], at=LATER)
    run(home)
    agent = Agent.objects.get()
    first, second = read_prompt_problems()
    assert first.startswith("The agent's next write takes MEMORY.md of main out of the prompt. Who wrote it last is")
    assert second == "OpenClaw's limit cuts USER.md of main. Not in the prompt: 1,000 characters."
    create_write(agent.db, 1, b"one\n", b"two\n", created_at=T0 + 1_000)
    assert "The plugin wrote it last." in read_prompt_problems()[0]
    home.file("MEMORY.md", "three\n")
    home.record("MEMORY.md", "three\n", "untrusted", at=T0 + 20_000)
    home.prompt([("USER.md", 5_000, 4_000)], at=LATER + 1, session="p2")
    run(home)
    sentence = read_prompt_problems()[0]
    assert sentence.startswith("OpenClaw has left MEMORY.md of main out of every prompt since 2026-02-21")
    assert "in the session agent:main:w1" in sentence and "the plugin had written it" in sentence


def test_a_file_that_was_removed_behind_openclaws_back_is_a_problem(home):
    home.record("MEMORY.md", "one\n").prompt([], at=LATER)
    run(home)
    assert (state_of().state, state_of().will_be_left_out) == ("missing", True)
    assert read_prompt_problems()[0].startswith("The agent's next write takes MEMORY.md of main out")


def read_prompt_problems():
    """Return the problems that mention the prompt."""
    return [sentence for sentence in check() if "prompt" in sentence]


RECORDED = {
    "correct": ("will_be_left_out", "in_prompt"),
    "daily": ("in_prompt", "in_prompt"),
    "editor": ("left_out", "in_prompt"),
    "promote": ("left_out", "in_prompt"),
    "sessions": ("missing", "no_record"),
    "spare1": ("left_out", "in_prompt"),
    "taint": ("left_out", "in_prompt"),
}


@pytest.mark.skipif(not DEMOTED.is_dir(), reason="a recorded home that is not beside this checkout")
def test_the_recorded_home(real_files):
    run(SimpleNamespace(root=DEMOTED))
    for agent in Agent.objects.all():
        standings = standing.read_standings(agent, MEMORY_FILES)
        states = {file_standing.file_name: file_standing.state for file_standing in standings}
        assert (states["MEMORY.md"], states["USER.md"]) == RECORDED[agent.agent_id], agent
        assert (states["SOUL.md"], states["TOOLS.md"]) == ("in_prompt", "missing")
    assert state_of(agent="editor").session_key == "agent:editor:s4"
