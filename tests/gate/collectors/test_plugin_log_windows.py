"""What the gate was given, rebuilt: wherever a reader says it, it is so, in any order of events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.collectors.plugin_log import LogReader, read
from gate.collectors.source_decisions import SourceDecision
from tests.gate.collectors.plugin import Plugin, line

LAB, MAIN, DM = "channel:irc:group:#lab", "agent:main:main", "channel:slack:C042"
KEYS = (LAB, MAIN, DM)
ENDS = ("applied update", "refused update", "failed", "skipped update")
# (what happens, with which of those it can happen to, how long after the one before)
STEPS = st.lists(
    st.tuples(st.integers(0, 19), st.integers(0, 11), st.sampled_from([0, 1, 50, 900, 70_000])), max_size=120
)
LEVELS = st.sampled_from(["debug", "info"])


def play(steps, level="debug", capacity=50, width=10, restarts=True):
    """A plugin that went through some steps."""
    plugin = Plugin(level=level, capacity=capacity, width=width)
    for number, (kind, which, wait) in enumerate(steps):
        plugin.at += wait
        if plugin.at - plugin.beaten > 60_000:
            plugin.beat()
        step(plugin, kind, which, f"{number}", restarts)
    return plugin


def step(plugin, kind, which, text, restarts=True):
    def one(some):
        return list(some)[which % len(some)]

    if kind < 5:
        plugin.user(one(KEYS), text)
    elif kind < 11:
        plugin.agent(one(KEYS), text)
    elif kind < 15 and plugin.open:
        decision = "UPDATE_USER" if which % 4 == 0 else "NO_WRITE"
        plugin.decide(one(plugin.open), decision, f"Reason {which % 2}")
    elif kind < 17 and plugin.writing:
        plugin.write(one(plugin.writing), ENDS[which % 4])
    elif kind < 18 and plugin.reacting:
        plugin.react(one(plugin.reacting))
    elif kind == 18 and restarts:
        plugin.forget(one(KEYS)) if which else plugin.start()


def given_to(found, truth):
    """Decisions beside what the gate was really given, by their moments."""
    real = {asked.at + asked.latency: asked for asked in truth}
    return [(one, real[one.at]) for one in found if isinstance(one, SourceDecision)]


def assert_true(found, truth):
    """Everything that is said is so; what is not certain is left out."""
    for one, real in given_to(found, truth):
        if one.window is not None:
            assert [(said.role, said.message, said.timestamp) for said in one.window] == real.window
        assert one.expected in (None, len(real.window))
        assert one.latency_ms in (None, real.latency)
        assert one.saw_user in (None, real.saw_user)
        assert one.reply is None or one.reply.message == real.reply


@given(STEPS, LEVELS, st.sampled_from([12, 50]), st.sampled_from([1, 3, 10]))
def test_whatever_happens_at_once(steps, level, capacity, width):
    plugin = play(steps, level, capacity, width)
    found = [*read(plugin.log)]
    assert len(found) == len(plugin.truth)
    assert_true(found, plugin.truth)


@given(STEPS)
def test_without_restarts_every_window_is_rebuilt(steps):
    plugin = play(steps, restarts=False)
    found = [*read(plugin.log)]
    assert [len(one.window) for one in found] == [one.expected for one in found]
    assert all(one.latency_ms is not None and one.saw_user is not None and one.reply for one in found)
    assert_true(found, plugin.truth)


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
    found = [*read(plugin.log)]
    assert len(found) == len(plugin.truth)
    assert_true(found, plugin.truth)


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
    found = [*read(plugin.log)]
    assert [len(one.window) for one in found] == [2, 4, 6, 8, 10, 10, 10]
    assert_true(found, plugin.truth)


def test_of_two_plugins_at_work_on_one_conversation_nothing_is_said():
    one = Plugin()
    talk(one, LAB, 2)
    other = Plugin(at=one.at + 1)
    one.log += other.log
    other.log.clear()
    talk(other, LAB)
    one.log += other.log
    one.at = other.at + 30_000
    talk(one, DM, 2)
    one.at += 60_000
    one.beat()
    talk(one, LAB)
    found = [*read(one.log)]
    assert [decision.window and len(decision.window) for decision in found] == [2, 4, 2, 2, 4, None]


def test_the_messages_of_a_restarted_plugin_are_its_own():
    plugin = Plugin()
    talk(plugin, MAIN, 4)
    plugin.start()
    talk(plugin, MAIN)
    assert [len(one.window) for one in read(plugin.log)] == [2, 4, 6, 8, 2]


def test_the_reply_in_a_conversation_whose_halves_have_different_keys():
    plugin = Plugin()
    plugin.user("channel:irc:irc:alice", "Remember that I like tea")
    plugin.agent("channel:irc:direct:alice", "Noted")
    plugin.decide("channel:irc:direct:alice")
    (found,) = read(plugin.log)
    assert (found.saw_user, found.saw_reply, found.reply.message) == (False, True, "Noted")
    assert [said.role for said in found.window] == ["agent"]


def test_two_agents_in_one_channel_have_keys_of_their_own():
    plugin = Plugin()
    for agent in ("ada", "bob"):
        details = {"originalSessionKey": f"agent:{agent}:slack:C042", "canonicalSessionKey": DM}
        plugin.say("MessageHandler", "Canonicalized session key to channel scope", details)
        plugin.agent(DM, agent)
    plugin.log = [raw for raw in plugin.log if b"agent:main:" not in raw]
    plugin.decide(DM)
    plugin.decide(DM)
    assert [one.original_key for one in read(plugin.log)] == ["agent:ada:slack:C042", "agent:bob:slack:C042"]


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
        found = [*read(plugin.log)]
        assert [len(one.window) for one in found] == [2, 4]
        assert_true(found, plugin.truth)


def test_at_the_default_level_windows_follow_from_the_rest():
    plugin = Plugin(level="info")
    talk(plugin, LAB, 7)
    found = [*read(plugin.log)]
    assert [(one.expected, one.latency_ms) for one in found] == [(None, None)] * 7
    assert [len(one.window) for one in found] == [2, 4, 6, 8, 10, 10, 10]
    assert {(one.saw_user, one.saw_reply) for one in found} == {(True, True)}
    assert_true(found, plugin.truth)


def test_a_conversation_goes_on_after_midnight():
    plugin, reader = Plugin(), LogReader()
    talk(plugin, LAB, 2)
    today, plugin.log = plugin.log, []
    plugin.at += 86_400_000
    talk(plugin, LAB)
    assert [len(one.window) for one in [*read(today, reader), *read(plugin.log, reader)]] == [2, 4, 6]
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
    assert [one.window and len(one.window) for one in read(plugin.log)] == [2, 4, None]
    talk(plugin, LAB, 4)
    assert len([*read(plugin.log)][-1].window) == 10
    assert_true(read(plugin.log), plugin.truth)
