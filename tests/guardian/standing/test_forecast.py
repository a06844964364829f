"""Effects of writes on a file's place in the prompt, compared with 122 observations.

The observations are of a living OpenClaw 2026.9.6.
"""

import json
from pathlib import Path

import pytest

from agents.models import Agent
from guardian import standing
from guardian.standing.effects import Effect, forecast_effect
from guardian.standing.files import GUARDED
from guardian.standing.provenance import read_live_record
from tests.collecting.collect_runs import run
from tests.sqlite_homes import T0

from .recorded_homes import RecordedHome

pytestmark = pytest.mark.django_db
DATA = Path(__file__).resolve().parents[2] / "data" / "provenance" / "observations.jsonl"
OBSERVED = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


def content(row):
    """Return a text for the file whose first digits of the hash were observed."""
    return None if row["sha"] == "-" else f"content {row['sha']}\n"


def create_state(home, agent, row):
    """Create the state that a row describes: record, file, and report of the newest prompt."""
    name, text = row["file"], content(row)
    origin = row["record"].split()[0]
    if origin != "none":
        home.record(name, text if "=file" in row["record"] else "what was recorded", origin, agent=agent)
    home.file(name, text, agent)
    if "report" in row:
        entries = [(name, entry["rawChars"], entry["injectedChars"]) for entry in row["report"]]
        home.prompt(entries, agent=agent, at=T0 + 10**12, session=f"p-{agent}")


@pytest.fixture(scope="module")
def agents():
    return [f"o{number}" for number in range(len(OBSERVED))]


@pytest.mark.nightly
def test_every_observation_is_foretold(tmp_path, real_files, agents):
    assert len(OBSERVED) == 122
    home = RecordedHome(tmp_path / "openclaw", tuple(agents))
    for agent, row in zip(agents, OBSERVED, strict=True):
        create_state(home, agent, row)
    run(home)
    before, foretold = {}, 0
    for name, row in zip(agents, OBSERVED, strict=True):
        agent, place = Agent.objects.get(agent_id=name), (row["case"], row["file"])
        if row["by"] == "agent" and place in before and row["file"] in GUARDED:
            last, effect = before[place]
            falls = effect == Effect.TAKEN_OUT or last["record"].startswith("untrusted")
            assert row["record"].startswith("untrusted" if falls else "agent"), row
            foretold += 1
        # The record must match the present file, whoever wrote it: the agent's next write finds that.
        data = content(row)
        before[place] = row, forecast_effect(agent, row["file"], data.encode() if data else None)
        check_standing(agent, row)
    assert foretold == 27


def check_standing(agent, row):
    """Check that the page about the file agrees with the next prompt."""
    file_standing = standing.read_standing(agent, row["file"])
    if row["file"] not in GUARDED:
        assert file_standing.state in ("in_prompt", "no_report", "missing"), row
    elif row["record"].startswith("untrusted"):
        assert file_standing.state == "left_out", row
    elif row.get("report"):
        expected = (
            "will_be_left_out" if "≠" in row["record"] else "in_prompt" if "agent" in row["record"] else "no_record"
        )
        assert file_standing.state == expected and file_standing.injected_chars, row
    elif row["sha"] == "-":
        assert file_standing.state == "missing", row


def test_effects(tmp_path, real_files):
    home = RecordedHome(tmp_path / "openclaw")
    home.file("MEMORY.md", "one\n").parent.joinpath("USER.md").write_text("two\n")
    home.record("MEMORY.md", "one\n").record("USER.md", "two\n", "untrusted").record("SOUL.md", "three\n")
    home.prompt([])
    run(home)
    agent = Agent.objects.get()
    assert forecast_effect(agent, "MEMORY.md", b"one\n") == Effect.NOTHING
    assert forecast_effect(agent, "MEMORY.md", b"another\n") == Effect.TAKEN_OUT
    assert forecast_effect(agent, "MEMORY.md", None) == Effect.TAKEN_OUT
    assert forecast_effect(agent, "USER.md", b"another\n") == Effect.NOTHING
    assert forecast_effect(agent, "SOUL.md", b"another\n") == Effect.NOTHING
    assert forecast_effect(agent, "IDENTITY.md", b"another\n") == Effect.NOTHING


@pytest.mark.parametrize(
    "fields",
    [
        {"version": 2},
        {"version": True},
        {"version": "1"},
        {"segments": []},
        {"originClass": "owner"},
        {"fileHash": "x"},
    ],
)
def test_what_is_not_known_is_not_guessed(tmp_path, real_files, fields):
    home = RecordedHome(tmp_path / "openclaw")
    home.file("MEMORY.md", "one\n")
    home.record("MEMORY.md", "one\n", **fields).prompt([("MEMORY.md", 3, 3)])
    run(home)
    agent = Agent.objects.get()
    assert forecast_effect(agent, "MEMORY.md", b"one\n") == Effect.UNKNOWN
    assert standing.read_standing(agent, "MEMORY.md").state == "not_known"


def test_a_record_that_is_no_json_and_a_database_that_is_none_are_not_known(tmp_path, real_files):
    home = RecordedHome(tmp_path / "openclaw")
    home.file("MEMORY.md", "one\n")
    home.record("MEMORY.md", "one\n").prompt([])
    run(home)
    agent = Agent.objects.get()
    with home.state() as store:
        store.execute("UPDATE plugin_state_entries SET value_json = '{'")
    assert not read_live_record(agent, "MEMORY.md").is_known
    assert forecast_effect(agent, "MEMORY.md", b"one\n") == Effect.UNKNOWN
    with home.state() as store:
        store.execute("ALTER TABLE plugin_state_entries RENAME COLUMN value_json TO value_zstd")
    assert forecast_effect(agent, "MEMORY.md", b"one\n") == Effect.UNKNOWN
    (home.root / "state" / "openclaw.sqlite").write_bytes(b"no database")
    assert forecast_effect(agent, "MEMORY.md", b"one\n") == Effect.UNKNOWN


def test_the_live_record_is_that_of_now(tmp_path, real_files):
    home = RecordedHome(tmp_path / "openclaw", ("main", "other"))
    home.record("MEMORY.md", "one\n").record("MEMORY.md", "other\n", agent="other").prompt([])
    run(home)
    agent = Agent.objects.get(agent_id="main")
    home.record("MEMORY.md", "three\n", session="w2")
    record = read_live_record(agent, "MEMORY.md")
    assert (record.session_key, record.is_trusted) == ("agent:main:w2", True)
    assert forecast_effect(agent, "MEMORY.md", b"three\n") == Effect.NOTHING
    home.forget("MEMORY.md")
    assert read_live_record(agent, "MEMORY.md") is None
