"""Homes that somebody built to stop a collect: each one is collected all the same."""

import json
import os

import pytest

from automation.models import CronJob
from ledger.models import ConversationTurn, TranscriptSnapshot
from tests.collecting.collect_runs import MAIN, count_events, run
from tests.homes import assistant, user

pytestmark = pytest.mark.django_db
DELETED = b"agents/main/sessions/00000000-0000-4000-8000-000000000001.jsonl.deleted."


def deep(times):
    value = "x" * 9000
    for _ in range(times):
        value = [value]
    return value


RECORDS = {
    "nested 250 times": {"type": "custom", "data": deep(250)},
    "nested 150 times": {"type": "custom", "data": deep(150)},
    "a list as sender": user("Hi", __openclaw={"senderId": ["x"]}),
    "a huge number as sender": user(
        'Conversation info (untrusted metadata):\n```json\n{"sender_id": 18446744073709551615}\n```\n\nHi'
    ),
    "a deep number of tokens": {"type": "compaction", "summary": "x", "tokensBefore": deep(100)},
    "a very long id": user("Hi") | {"id": "x" * 5000},
    "an id like ours": user("Hi") | {"id": "@0"},
    "an id with NUL": user("Hi") | {"id": "a\x00b"},
    "year 9999": user("Hi") | {"timestamp": "9999-12-31T23:59:59Z"},
    "half an emoji": user("Hi \ud83d"),
    "odd arguments": assistant("", ("c1", "exec", [1, 2])),
    "a model that is an essay": assistant("Hi", model="m" * 100_000),
}


@pytest.mark.parametrize("name", RECORDS)
def test_an_odd_record_stops_nothing(home, name):
    script = home.transcript(user("Before"))
    script.raw(json.dumps({"id": "odd", "parentId": "r1", "timestamp": "2026-02-21T03:00:05Z"} | RECORDS[name]) + "\n")
    script.add(user("After"))
    report = run(home)
    assert count_events() + report["rejected"] == 4
    assert ConversationTurn.objects.using(MAIN).filter(user_message_content="After").exists()


def test_odd_names_and_times_of_files_stop_nothing(home):
    home.transcript(user("One"))
    os.utime(home.write("workspace/MEMORY.md", "far away"), (10_400_000_000, 10_400_000_000))
    os.utime(home.transcript(user("Two")).path, (10_400_000_000, 10_400_000_000))
    home.write("workspace/memory/ok.md", "fine")
    for name in (
        b"workspace/memory/\xff.md",
        b"cron/runs/\xff.jsonl",
        b"agents/x\xff/sessions/a",
        DELETED + b"\xff",
        DELETED + b"a\nb",
    ):
        path = os.path.join(os.fsencode(home.root), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb"):
            pass
    assert run(home)["records"] == 4
    assert run(home)["bytes_read"] == 0
    assert run(home, include_deleted=True)["records"] == 0


def test_odd_indexes_and_schedules_stop_nothing(home):
    script = home.transcript(user("One"))
    entry = {"systemPromptReport": {"toolSchemas": deep(50), "systemPrompt": {"chars": ["x"]}}}
    home.index({"agent:main:main": {"sessionId": script.session} | entry, "x": {"sessionId": "../../etc"}})
    home.write("cron/jobs.json", {"jobs": [{"id": "j1", "payload": deep(300)}]})
    home.write("subagents/runs.json", {"runs": {"u1": deep(300)}})
    listed = [{"id": "main", "workspace": "~nobody-here/x"}, {"id": "b", "workspace": "/" + "x" * 5000}]
    home.write("openclaw.json", {"agents": {"list": listed}})
    report = run(home)
    assert (report["records"], report["schedules"]["rejected"]) == (2, 2)
    assert not CronJob.objects.exists()


def test_work_grows_with_the_size_of_a_record_and_not_with_its_square(home):
    script = home.transcript(user("One"))
    script.add({"type": "compaction", "summary": "<read-files>" * 80_000})
    blocks = 'Note (untrusted metadata):\n```json\n{"a": 1}\n```\n' * 40_000
    script.add(user(blocks))
    for number in range(3_000):
        script.add({"type": "compaction", "summary": str(number)})
    run(home)
    assert TranscriptSnapshot.objects.using(MAIN).count() == 3_001
