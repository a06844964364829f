"""Sums of tool outputs while transcripts come in, checked against the records."""

import random
from collections import Counter, defaultdict

import pytest
from django.db.models import Sum

from artifacts.contents import adoption
from artifacts.models import Artifact
from ledger.collectors.session_index import IndexEntry
from ledger.index_rows import store_index
from ledger.models import ConversationTurn, SessionTool, ToolDay, TranscriptEvent
from ledger.rebuild.sums import rebuild_session
from tests.factories import T0
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import store_session

DAY_MS = 86_400_000
HANDLE = len("ocm_artifact:v1:sha256:") + 64
SUMS = ("call_count", "result_count", "failed_count", "chars", "stashed_count", "stashed_chars", "kept_chars")
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("store")]


def calls(name, text, **more):
    """A turn's middle: a call and its result."""
    calls.count += 1
    call = f"c{calls.count}"
    return assistant("", (call, name, {})), result(call, text, name=name, **more)


calls.count = 0
LONG = "a line of a log\n" * 1_000  # 16,000 characters
COMPACTION = {"type": "compaction", "summary": "s", "firstKeptEntryId": "r1"}


def read_sums(session_id="s1"):
    """Return the stored sums by tool."""
    by_tool = {}
    for row in SessionTool.objects.using("agent_ada").filter(session_id=session_id).exclude(tool=""):
        by_tool[row.tool] = {name: getattr(row, name) for name in (*SUMS, "carried_chars", "open_chars")}
    return by_tool


def test_it_works():
    store_session(
        user("go"),
        *calls("exec", LONG),
        *calls("read", "short"),
        assistant("reply"),
        COMPACTION,
        assistant("after"),
    )
    summary = Artifact.objects.using("agent_ada").get().summary
    kept_chars = 500 + len(summary) + HANDLE
    saved = len(LONG) - kept_chars
    assert read_sums() == {
        "exec": dict.fromkeys(SUMS, 0)
        | {"call_count": 1, "result_count": 1, "chars": 16_000, "stashed_count": 1, "stashed_chars": 16_000}
        # Two model calls read it again: the one that called `read`, and the reply. Then came the compaction.
        | {"kept_chars": kept_chars, "carried_chars": 2 * saved, "open_chars": 0},
        "read": dict.fromkeys(SUMS, 0)
        | {"call_count": 1, "result_count": 1, "chars": 5, "carried_chars": 0, "open_chars": 0},
    }


def test_what_is_open_is_carried_on_when_the_session_grows():
    opening = (user("go"), *calls("exec", LONG), assistant("one"))
    store_session(*opening)
    before = read_sums()["exec"]
    store_session(*opening, assistant("two"), assistant("three"))
    after = read_sums()["exec"]
    assert (before["carried_chars"], after["carried_chars"]) == (before["open_chars"], 3 * before["open_chars"])
    assert {name: after[name] for name in SUMS} == {name: before[name] for name in SUMS}


def test_failed_and_unnamed_results_are_counted():
    failed = result("x", "no", name="exec", details={"exitCode": 1})
    unnamed = result("y", "what")
    del unnamed["message"]["toolName"]
    store_session(user("go"), failed, unnamed)
    assert {tool: (counts["result_count"], counts["failed_count"]) for tool, counts in read_sums().items()} == {
        "exec": (1, 1),
    }
    assert ToolDay.objects.using("agent_ada").get(tool="").result_count == 1


def test_a_call_that_read_nothing_carries_nothing():
    empty = assistant("")
    empty["message"]["usage"] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0}
    copy = assistant("x", model="delivery-mirror")
    store_session(user("go"), *calls("exec", LONG), empty, copy)
    assert read_sums()["exec"]["carried_chars"] == 0


def test_words_of_people_who_opted_out_are_not_counted():
    question = user("go", __openclaw={"senderId": "42"})
    store_session(question, *calls("exec", LONG), opted_out=["42"])
    assert read_sums() == {}


@pytest.mark.parametrize("seed", range(5))
def test_sums_are_those_of_the_records(seed):
    made = list(session_of(random.Random(seed), 120))
    store_session(*made)
    assert read_sums_by_day() == count_expected(made)


@pytest.mark.parametrize("seed", range(3))
def test_sums_are_the_same_however_the_session_came(seed):
    chance = random.Random(seed)
    made = list(session_of(chance, 120))
    for end in sorted(chance.sample(range(1, len(made)), 6)):
        store_session(*made[:end])
    store_session(*made)
    assert read_sums_by_day() == count_expected(made)


def test_counting_again_comes_to_the_same():
    made = list(session_of(random.Random(9), 120))
    store_session(*made)
    turns = ConversationTurn.objects.using("agent_ada")
    prompts = dict(turns.values_list("id", "prompt_tokens"))
    turns.update(prompt_tokens=None)
    rebuild_session("agent_ada", "s1")
    assert read_sums_by_day() == count_expected(made)
    assert dict(turns.values_list("id", "prompt_tokens")) == prompts
    assert any(prompts.values())


def test_a_damaged_row_does_not_stop_the_count():
    store_session(*session_of(random.Random(9), 20))
    row = TranscriptEvent.objects.using("agent_ada").filter(kind="tool_result").first()
    TranscriptEvent.objects.using("agent_ada").filter(pk=row.pk).update(event_json="{damaged")
    before = sum(stored_by_day_chars())
    rebuild_session("agent_ada", "s1")
    assert 0 < sum(stored_by_day_chars()) <= before


def stored_by_day_chars():
    return SessionTool.objects.using("agent_ada").values_list("chars", flat=True)


def test_the_prompt_of_a_turn_is_that_of_its_biggest_call():
    small, big = assistant("a"), assistant("b")
    big["message"]["usage"] = {"input": 10, "output": 9_000, "cacheRead": 2_000, "cacheWrite": 300}
    store_session(user("one"), small, big, small, user("two"), user("three"), assistant("c", model="delivery-mirror"))
    turns = ConversationTurn.objects.using("agent_ada").order_by("turn_number")
    assert list(turns.values_list("prompt_tokens", flat=True)) == [2_310, None, None]


def session_of(chance, length):
    """Random records of three days: turns, calls, outputs of all sizes, compactions."""
    for number in range(length):
        at = {"timestamp": T0 + number * 3 * DAY_MS // length}
        kind = chance.random()
        if kind < 0.15:
            yield user(f"question {number}") | at
        elif kind < 0.2:
            yield COMPACTION | at
        elif kind < 0.5:
            yield assistant("words") | at
        else:
            name = chance.choice(["exec", "read", "web_fetch"])
            text = "x" * chance.choice([0, 10, 3_000, 8_001, 30_000]) + chance.choice(["", "\n" * 300])
            details = {"exitCode": chance.choice([0, 0, 1])}
            yield assistant("", (f"c{number}", name, {})) | at
            yield result(f"c{number}", text, name=name, details=details) | at


def count_expected(records):
    """Sum up by day and tool from the records alone, the slow way.

    For each output, every later call is counted.
    """
    summaries = dict(Artifact.objects.using("agent_ada").values_list("record_id", "summary"))
    expected = defaultdict(Counter)
    for place, record in enumerate(records):
        message = record.get("message", {})
        day = str((record["timestamp"] - T0) // DAY_MS)
        if message.get("role") == "assistant":
            expected[day, ""]["prompt_tokens"] += 105
            for block in message["content"]:
                if block["type"] == "toolCall":
                    expected[day, block["name"]]["call_count"] += 1
        if message.get("role") != "toolResult":
            continue
        text = message["content"][0]["text"]
        counted = expected[day, message["toolName"]]
        counted["result_count"] += 1
        counted["failed_count"] += message["details"]["exitCode"] != 0
        counted["chars"] += len(text)
        if adoption.is_adoptable(text):
            kept_chars = min(len(text), 500) + len(summaries[f"r{place + 1}"]) + HANDLE
            counted["stashed_count"] += 1
            counted["stashed_chars"] += len(text)
            counted["kept_chars"] += min(kept_chars, len(text))
            counted["carried_chars"] += max(len(text) - kept_chars, 0) * calls_after(records, place)
    return {key: {name: number for name, number in counted.items() if number} for key, counted in expected.items()}


def calls_after(records, place):
    """Count the model calls before the next compaction."""
    count = 0
    for record in records[place + 1 :]:
        if record["type"] == "compaction":
            break
        count += record.get("message", {}).get("role") == "assistant"
    return count


def read_sums_by_day():
    """The stored sums in the shape of `truth`."""
    names = (*SUMS, "carried_chars", "prompt_tokens")
    rows = SessionTool.objects.using("agent_ada").filter(session_id="s1")
    return {
        (str(int(row.date[-2:]) - 5), row.tool): {name: getattr(row, name) for name in names if getattr(row, name)}
        for row in rows
    }


def test_days_are_the_sums_of_their_sessions():
    for seed in (1, 2):
        store_session(*session_of(random.Random(seed), 60), session_id=f"s{seed}")
    store_session(*session_of(random.Random(1), 90), session_id="s1")
    rebuild_session("agent_ada", "s1")
    names = (*SUMS, "carried_chars")
    by_day = SessionTool.objects.using("agent_ada").values("date", "tool", "channel_id")
    summed = {
        (row["date"], row["tool"], row["channel_id"]): [row[f"sum_{name}"] for name in names]
        for row in by_day.annotate(**{f"sum_{name}": Sum(name) for name in names})
    }
    days = ToolDay.objects.using("agent_ada").values_list("date", "tool", "channel_id", *names)
    assert {row[:3]: list(row[3:]) for row in days} == summed
    assert {place[2] for place in summed} == {"unknown"}


def test_sums_follow_a_session_to_the_channel_that_the_index_tells_of():
    store_session(*session_of(random.Random(1), 60), session_id="s1")
    store_session(*session_of(random.Random(2), 60), session_id="s2")
    before = set(ToolDay.objects.using("agent_ada").values_list("date", "tool", *SUMS))
    for session_id in ("s1", "s2"):
        entry = IndexEntry(f"agent:ada:{session_id}", session_id, "direct", "telegram")
        store_index("agent_ada", [entry])
    assert set(SessionTool.objects.using("agent_ada").values_list("channel_id", flat=True)) == {"telegram"}
    assert set(ToolDay.objects.using("agent_ada").values_list("channel_id", flat=True)) == {"telegram"}
    assert set(ToolDay.objects.using("agent_ada").values_list("date", "tool", *SUMS)) == before
