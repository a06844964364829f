"""Windows that are rebuilt from the plugin's log are right in any order of events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.collectors.plugin_log import LogReader, read
from gate.collectors.source_decisions import SourceDecision
from tests.gate.collectors.plugin import Plugin, line

LAB, MAIN, DM = "channel:irc:group:#lab", "agent:main:main", "channel:slack:C042"
KEYS = (LAB, MAIN, DM)
ENDS = ("applied update", "refused update", "failed", "skipped update")
# (kind of event, number of the conversation it happens to, milliseconds after the event before)
STEPS = st.lists(
    st.tuples(st.integers(0, 19), st.integers(0, 11), st.sampled_from([0, 1, 50, 900, 70_000])), max_size=120
)
LEVELS = st.sampled_from(["debug", "info"])


def play(steps, level="debug", capacity=50, width=10, restarts=True):
    """Returns a plugin that went through some steps."""
    plugin = Plugin(level=level, capacity=capacity, width=width)
    for number, (kind, which, wait) in enumerate(steps):
        plugin.at += wait
        if plugin.at - plugin.beaten > 60_000:
            plugin.beat()
        step(plugin, kind, which, f"{number}", restarts)
    return plugin


def step(plugin, kind, which, text, restarts=True):
    def choose(options):
        return list(options)[which % len(options)]

    if kind < 5:
        plugin.user(choose(KEYS), text)
    elif kind < 11:
        plugin.agent(choose(KEYS), text)
    elif kind < 15 and plugin.open:
        decision = "UPDATE_USER" if which % 4 == 0 else "NO_WRITE"
        plugin.decide(choose(plugin.open), decision, f"Reason {which % 2}")
    elif kind < 17 and plugin.writing:
        plugin.write(choose(plugin.writing), ENDS[which % 4])
    elif kind < 18 and plugin.reacting:
        plugin.react(choose(plugin.reacting))
    elif kind == 18 and restarts:
        plugin.forget(choose(KEYS)) if which else plugin.start()


def pair_with_truth(results, truth):
    """Returns pairs of a decision and what the gate was really given, matched by time."""
    real = {question.at + question.latency: question for question in truth}
    return [(result, real[result.at]) for result in results if isinstance(result, SourceDecision)]


def assert_true(results, truth):
    """Checks that everything read is right; uncertain facts are left out."""
    for decision, real in pair_with_truth(results, truth):
        if decision.window is not None:
            assert [(message.role, message.message, message.timestamp) for message in decision.window] == real.window
        assert decision.expected in (None, len(real.window))
        assert decision.latency_ms in (None, real.latency)
        assert decision.saw_user in (None, real.saw_user)
        assert decision.reply is None or decision.reply.message == real.reply


@given(STEPS, LEVELS, st.sampled_from([12, 50]), st.sampled_from([1, 3, 10]))
def test_whatever_happens_at_once(steps, level, capacity, width):
    plugin = play(steps, level, capacity, width)
    decisions = [*read(plugin.log)]
    assert len(decisions) == len(plugin.truth)
    assert_true(decisions, plugin.truth)


@given(STEPS)
def test_without_restarts_every_window_is_rebuilt(steps):
    plugin = play(steps, restarts=False)
    decisions = [*read(plugin.log)]
    assert [len(decision.window) for decision in decisions] == [decision.expected for decision in decisions]
    assert all(
        decision.latency_ms is not None and decision.saw_user is not None and decision.reply for decision in decisions
    )
    assert_true(decisions, plugin.truth)


@given(STEPS, LEVELS, st.integers(0, 400))
def test_a_log_that_begins_in_the_middle(steps, level, start):
    plugin = play(steps, level)
    assert_true(read(plugin.log[start:]), plugin.truth)


@given(STEPS, LEVELS, st.sets(st.integers(0, 400), max_size=3))
def test_lines_that_are_damaged(steps, level, damaged):
    plugin = play(steps, level)
    log = [b"{x" if number in damaged else raw for number, raw in enumerate(plugin.log)]
    assert_true(read(log), plugin.truth)


@given(STEPS, LEVELS, st.integers(0, 20))
def test_commands_that_load_the_plugin_beside_the_one_at_work(steps, level, every):
    plugin = Plugin(level=level)
    for number, (kind, which, wait) in enumerate(steps):
        plugin.at += wait
        if every and number % every == 0:
            plugin.log += Plugin(level=level, at=plugin.at).log
        if plugin.at - plugin.beaten > 60_000:
            plugin.beat()
        step(plugin, kind, which, f"{number}", restarts=False)
    decisions = [*read(plugin.log)]
    assert len(decisions) == len(plugin.truth)
    assert_true(decisions, plugin.truth)


def talk(plugin, key, count=1):
    for number in range(count):
        plugin.user(key, f"question {number}")
        plugin.agent(key, f"answer {number}")
        plugin.decide(key)


def test_a_command_takes_nothing_from_the_plugin_at_work():
    plugin = Plugin()
    talk(plugin, LAB, 3)
    plugin.log += Plugin(at=plugin.at).log
    talk(plugin, LAB, 3)
    plugin.log += Plugin(at=plugin.at).log
    plugin.log += Plugin(at=plugin.at).log
    plugin.agent(LAB, "still here")
    plugin.log += Plugin(at=plugin.at).log
    plugin.decide(LAB)
    decisions = [*read(plugin.log)]
    assert [len(decision.window) for decision in decisions] == [2, 4, 6, 8, 10, 10, 10]
    assert_true(decisions, plugin.truth)


def test_of_two_plugins_at_work_on_one_conversation_nothing_is_said():
    plugin = Plugin()
    talk(plugin, LAB, 2)
    other = Plugin(at=plugin.at + 1)
    plugin.log += other.log
    other.log.clear()
    talk(other, LAB)
    plugin.log += other.log
    plugin.at = other.at + 30_000
    talk(plugin, DM, 2)
    plugin.at += 60_000
    plugin.beat()
    talk(plugin, LAB)
    decisions = [*read(plugin.log)]
    assert [decision.window and len(decision.window) for decision in decisions] == [2, 4, 2, 2, 4, None]


def test_the_messages_of_a_restarted_plugin_are_its_own():
    plugin = Plugin()
    talk(plugin, MAIN, 4)
    plugin.start()
    talk(plugin, MAIN)
    assert [len(decision.window) for decision in read(plugin.log)] == [2, 4, 6, 8, 2]


def test_the_reply_in_a_conversation_whose_halves_have_different_keys():
    plugin = Plugin()
    plugin.user("channel:irc:irc:alice", "Remember that I like tea")
    plugin.agent("channel:irc:direct:alice", "Noted")
    plugin.decide("channel:irc:direct:alice")
    (decision,) = read(plugin.log)
    assert (decision.saw_user, decision.saw_reply, decision.reply.message) == (False, True, "Noted")
    assert [message.role for message in decision.window] == ["agent"]


def test_two_agents_in_one_channel_have_keys_of_their_own():
    plugin = Plugin()
    for agent in ("ada", "bob"):
        details = {"originalSessionKey": f"agent:{agent}:slack:C042", "canonicalSessionKey": DM}
        plugin.say("MessageHandler", "Canonicalized session key to channel scope", details)
        plugin.agent(DM, agent)
    plugin.log = [raw for raw in plugin.log if b"agent:main:" not in raw]
    plugin.decide(DM)
    plugin.decide(DM)
    assert [decision.original_key for decision in read(plugin.log)] == ["agent:ada:slack:C042", "agent:bob:slack:C042"]


def test_a_message_that_was_heard_twice_is_in_the_window_once():
    for level in ("debug", "info"):
        plugin = Plugin(level=level)
        talk(plugin, LAB)
        message = {"role": "agent", "message": "answer 0", "timestamp": plugin.at, "sessionKey": LAB, "metadata": {}}
        plugin.say(
            "MessageHandler", "Buffer message snapshot", {"hookName": "message:sent", "bufferMessage": message}, LAB
        )
        plugin.say("MessageHandler", "Skipped duplicate agent message event", {"hookName": "message:sent"}, LAB)
        talk(plugin, LAB)
        decisions = [*read(plugin.log)]
        assert [len(decision.window) for decision in decisions] == [2, 4]
        assert_true(decisions, plugin.truth)


def test_at_the_default_level_windows_follow_from_the_rest():
    plugin = Plugin(level="info")
    talk(plugin, LAB, 7)
    decisions = [*read(plugin.log)]
    assert [(decision.expected, decision.latency_ms) for decision in decisions] == [(None, None)] * 7
    assert [len(decision.window) for decision in decisions] == [2, 4, 6, 8, 10, 10, 10]
    assert {(decision.saw_user, decision.saw_reply) for decision in decisions} == {(True, True)}
    assert_true(decisions, plugin.truth)


def test_a_conversation_goes_on_after_midnight():
    plugin, reader = Plugin(), LogReader()
    talk(plugin, LAB, 2)
    today, plugin.log = plugin.log, []
    plugin.at += 86_400_000
    talk(plugin, LAB)
    assert [len(decision.window) for decision in [*read(today, reader), *read(plugin.log, reader)]] == [2, 4, 6]
    (alone,) = read(plugin.log)
    assert (alone.window, alone.expected, alone.reply.message) == (None, 6, "answer 0")


@pytest.mark.parametrize(("role", "text"), [("tool", "x"), ("user", 5), ("user", None), (None, "x")])
def test_a_message_that_cannot_be_read_makes_windows_uncertain(role, text):
    plugin = Plugin()
    talk(plugin, LAB, 2)
    message = {"role": role, "message": text, "timestamp": plugin.at, "sessionKey": LAB}
    plugin.log.append(line(plugin.at, "MessageHandler", "Buffer message snapshot", {"bufferMessage": message}, LAB))
    plugin.buffers[LAB].append(("user", "x", plugin.at))
    talk(plugin, LAB)
    assert [decision.window and len(decision.window) for decision in read(plugin.log)] == [2, 4, None]
    talk(plugin, LAB, 4)
    assert len([*read(plugin.log)][-1].window) == 10
    assert_true(read(plugin.log), plugin.truth)
