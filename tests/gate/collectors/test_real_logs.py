"""The logs that the real plugin wrote, whole."""

from collections import Counter
from pathlib import Path

import pytest

from gate.collectors import guardian_log
from gate.collectors.plugin_log import LogReader, read
from tests.gate.collectors.plugin import with_facts

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "data" / "reflection"
NAME = "reflection-2026-11-21.log"
FACTS = RECORDED / "workspace" / ".openclaw-reflection" / "write-guardian.log.jsonl"

pytestmark = pytest.mark.skipif(not RECORDED.exists(), reason="the recorded logs are not on this machine")


def lines_of(name):
    return (RECORDED / f"plugin-logs-{name}" / NAME).read_bytes().splitlines(keepends=True)


@pytest.fixture(scope="module")
def driver():
    reader = LogReader()
    found = [*read(lines_of("driver"), reader)]
    assert not reader.unknown
    return found


def test_every_decision_is_found_once(driver):
    kinds = Counter(one.failure or ("UPDATE" if one.decision != "NO_WRITE" else "NO_WRITE") for one in driver)
    assert kinds == {"NO_WRITE": 69, "UPDATE": 8, "llm_request_failed": 1, "missing_candidate_fact": 1}
    assert len({one.id for one in driver}) == 79


def test_the_same_decision_in_two_logs_has_one_id(driver):
    gateway = [*read(lines_of("gateway"))]
    assert len(gateway) == 54
    assert gateway == driver[:54]
    reader = LogReader()  # and when one reader reads both, one after the other
    assert {one.id for log in ("gateway", "driver") for one in read(lines_of(log), reader)} == {
        one.id for one in driver
    }


def test_every_window_is_rebuilt_with_as_many_messages_as_the_gate_was_given(driver):
    assert [len(one.window) for one in driver] == [one.expected for one in driver]
    assert all(one.window[-1] == one.reply for one in driver)
    assert all(one.latency_ms is not None for one in driver)


def test_most_conversations_had_no_message_of_a_person(driver):
    """On IRC, and in the main session, the two halves of a conversation have different keys."""
    assert Counter(one.saw_user for one in driver) == {False: 67, True: 12}
    assert all(one.saw_user == any(said.role == "user" for said in one.window) for one in driver)
    channels = {one.session_key.split(":")[1] for one in driver if one.saw_user}
    assert channels == {"discord", "telegram", "slack"}


def test_keys_models_and_workspaces(driver):
    assert Counter(one.original_key is None for one in driver) == {True: 45, False: 34}
    assert {one.session_key for one in driver if one.original_key is None} == {"agent:main:main"}
    assert {one.original_key for one in driver if one.session_key == "channel:irc:group:#lab"} == {
        "agent:main:irc:group:#lab"
    }
    assert {one.model for one in driver} == {"fake-gpt-mini"}
    assert len({one.workspace for one in driver}) == 2


def test_every_fact_finds_its_decision(driver):
    written = [*guardian_log.read(FACTS.read_bytes().splitlines())]
    found = with_facts(driver, written)
    assert len(written) == 8
    assert [one.fact is not None for one in found] == [one.decision != "NO_WRITE" for one in driver]
    assert {one.fact for one in found} - {None} == {one.fact for one in written}
