"""Whole logs that the real plugin wrote."""

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
    decisions = [*read(lines_of("driver"), reader)]
    assert not reader.unknown
    return decisions


def test_every_decision_is_found_once(driver):
    kinds = Counter(
        decision.failure or ("UPDATE" if decision.decision != "NO_WRITE" else "NO_WRITE") for decision in driver
    )
    assert kinds == {"NO_WRITE": 69, "UPDATE": 8, "llm_request_failed": 1, "missing_candidate_fact": 1}
    assert len({decision.id for decision in driver}) == 79


def test_the_same_decision_in_two_logs_has_one_id(driver):
    gateway = [*read(lines_of("gateway"))]
    assert len(gateway) == 54
    assert gateway == driver[:54]
    reader = LogReader()  # and when one reader reads both, one after the other
    assert {decision.id for log in ("gateway", "driver") for decision in read(lines_of(log), reader)} == {
        decision.id for decision in driver
    }


def test_every_window_is_rebuilt_with_as_many_messages_as_the_gate_was_given(driver):
    assert [len(decision.window) for decision in driver] == [decision.expected for decision in driver]
    assert all(decision.window[-1] == decision.reply for decision in driver)
    assert all(decision.latency_ms is not None for decision in driver)


def test_most_conversations_had_no_message_of_a_person(driver):
    """On IRC, and in the main session, the two halves of a conversation have different keys."""
    assert Counter(decision.saw_user for decision in driver) == {False: 67, True: 12}
    assert all(decision.saw_user == any(message.role == "user" for message in decision.window) for decision in driver)
    channels = {decision.session_key.split(":")[1] for decision in driver if decision.saw_user}
    assert channels == {"discord", "telegram", "slack"}


def test_keys_models_and_workspaces(driver):
    assert Counter(decision.original_key is None for decision in driver) == {True: 45, False: 34}
    assert {decision.session_key for decision in driver if decision.original_key is None} == {"agent:main:main"}
    assert {decision.original_key for decision in driver if decision.session_key == "channel:irc:group:#lab"} == {
        "agent:main:irc:group:#lab"
    }
    assert {decision.model for decision in driver} == {"fake-gpt-mini"}
    assert len({decision.workspace for decision in driver}) == 2


def test_every_fact_finds_its_decision(driver):
    written = [*guardian_log.read(FACTS.read_bytes().splitlines())]
    decisions = with_facts(driver, written)
    assert len(written) == 8
    assert [decision.fact is not None for decision in decisions] == [
        decision.decision != "NO_WRITE" for decision in driver
    ]
    assert {decision.fact for decision in decisions} - {None} == {write.fact for write in written}
