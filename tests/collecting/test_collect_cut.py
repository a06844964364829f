"""Files that are cut in place and grow again lose no record and double none.

They may grow past their old size.
"""

import json
import os
import random
import uuid
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.models import CollectorSource
from automation.models import CronRunLog
from ledger.models import TrajectoryEvent, TranscriptEvent
from tests.collecting.collect_runs import MAIN, count_events, run
from tests.homes import user
from tests.sqlite_homes import SqliteHome

pytestmark = pytest.mark.django_db


def line(text, number=None, size=0):
    """A record with an id of its own, or without one."""
    # Texts of different records end differently: the last 4,096 bytes before a place tell a file from another.
    message = {"role": "user", "content": [{"type": "text", "text": text + text[:1] * size}]}
    record = {"type": "message", "timestamp": "2026-02-21T03:00:00.000Z", "message": message}
    return json.dumps(record if number is None else {"id": f"r{number}"} | record).encode() + b"\n"


def count_stored_texts(session):
    """Count the texts of a session in the store."""
    rows = TranscriptEvent.objects.using(MAIN).filter(session_id=session).exclude(kind="session")
    return Counter(
        json.loads(text)["message"]["content"][0]["text"] for text in rows.values_list("event_json", flat=True)
    )


def count_texts(path):
    """Count the texts of the complete records of a file."""
    counts = Counter()
    for raw in path.read_bytes().splitlines()[1:]:
        with suppress(json.JSONDecodeError):
            counts[json.loads(raw)["message"]["content"][0]["text"]] += 1
    return counts


def cut_file(path, size, more=b""):
    """Cut a file in place, and let it grow: its inode stays."""
    with path.open("r+b") as file:
        file.truncate(size)
        file.seek(size)
        file.write(more)


def test_a_transcript_that_was_cut_and_grew_past_its_old_size_is_read_again(home):
    script = home.transcript(*(user(f"old {number}") for number in range(20)))
    run(home)
    size = script.path.stat().st_size
    cut_file(script.path, len(script.path.read_bytes().splitlines(keepends=True)[0]))
    for number in range(100, 141):
        script.raw(line(f"new {number}", number))
    assert script.path.stat().st_size > size
    agent_report = run(home)["agents"]["main"]
    assert (agent_report["transcripts"]["replaced"], agent_report["records"]["user"], agent_report["repeated"]) == (
        1,
        41,
        1,
    )
    assert count_stored_texts(script.session) == Counter(
        [f"old {n}" for n in range(20)] + [f"new {n}" for n in range(100, 141)]
    )


def test_fifty_cuts_at_any_place_lose_and_double_nothing(home):
    """Half of the records have no id, so that their place is all their name says."""
    chance, script, seen = random.Random(11), home.transcript().raw(line("begin", 0)), Counter()
    number = 0
    for _round in range(50):
        have = script.path.stat().st_size
        cut_file(script.path, chance.randrange(150, have + 1))
        if not script.path.read_bytes().endswith(b"\n"):
            script.raw(b"\n")  # what was cut in its middle is a damaged line
        for _record in range(chance.randrange(12)):
            number += 1
            script.raw(line(f"told {number}", number if chance.random() < 0.5 else None, chance.randrange(400)))
        seen |= count_texts(script.path)
        run(home)
        assert count_stored_texts(script.session) == seen
    assert sum(seen.values()) > 150


STEPS = st.tuples(
    st.floats(0, 1), st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0, 1, 700, 5000])), max_size=5)
)


@given(st.lists(STEPS, min_size=2, max_size=6))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_equal_records_without_an_id_are_kept_as_often_as_a_file_had_them(home, steps):
    """Counts of each text: the most that the file had at once, plus every appended one."""
    script = home.transcript()
    expected, in_places, before = Counter(), set(), b""
    for where, added in steps:
        lines = script.path.read_bytes().splitlines(keepends=True)
        beginning = b"".join(lines[: 1 + round(where * (len(lines) - 1))])
        cut_file(script.path, len(beginning), b"".join(line(text, size=size) for text, size in added))
        now = script.path.read_bytes()
        is_appended = now.startswith(before) and now != before and before
        texts, offset = [], 0
        for raw in now.splitlines(keepends=True):
            if offset:
                texts.append((offset, json.loads(raw)["message"]["content"][0]["text"]))
            offset += len(raw)
        if is_appended:
            new = [(place, text) for place, text in texts if place >= len(before) and (place, text) not in in_places]
            expected += Counter(text for _place, text in new)
        else:
            expected |= Counter(text for _place, text in texts)
        before = now
        run(home)
        assert count_stored_texts(script.session) == expected
        in_places = read_places(script.session)
    run(home)
    assert count_stored_texts(script.session) == expected


def read_places(session):
    """(place, text) of each record that the store has."""
    rows = TranscriptEvent.objects.using(MAIN).filter(session_id=session, event_id__startswith="@")
    records = rows.values_list("event_id", "event_json")
    named_texts = ((name, json.loads(text)["message"]["content"][0]["text"]) for name, text in records)
    return {(int(name[1:].partition("-")[0]), text) for name, text in named_texts}


def test_what_was_stored_before_a_collect_was_killed_is_not_there_twice(home):
    script = home.transcript().raw(line("one")).raw(line("two"))
    run(home)
    cut_file(script.path, script.path.stat().st_size - len(line("two")), line("six", size=1) + line("two"))
    for _again in range(2):
        rows = list(CollectorSource.objects.filter(kind="transcript"))
        script.raw(line("four"))
        run(home)
        for row in rows:  # as after a collect that was killed once it had stored its records
            row.save()
        run(home)
    assert count_stored_texts(script.session) == Counter({"one": 1, "two": 1, "sixs": 1, "four": 2})


def test_long_outputs_and_words_of_who_opted_out_are_told_apart_as_well(home, settings):
    """Such records look different in the store and in the file."""
    result = {"type": "message", "message": {"role": "toolResult", "toolCallId": "c", "toolName": "exec"}}
    output = result | {
        "message": result["message"]
        | {"content": [{"type": "text", "text": "out " * 40_000}], "details": {"aggregated": "out " * 40_000}}
    }
    spoken = user("aside", senderId="77", sender={"id": "77"})
    script = home.transcript().raw(line("one"))
    for record in (output, spoken, output):
        script.raw(json.dumps(record) + "\n")
    run(home)
    before = count_events()
    data = script.path.read_bytes()
    head = data.splitlines(keepends=True)[0]
    cut_file(script.path, len(head), line("first", size=3) + data[len(head) :])
    report = run(home)
    assert (report["agents"]["main"]["repeated"], count_events()) == (before, before + 1)


def test_files_that_an_older_version_read_are_read_once_more(home):
    script = home.transcript(*(user(f"old {number}") for number in range(3)))
    run(home)
    CollectorSource.objects.update(tail_sha256="")  # what the migration leaves
    script.add(user("More"))
    assert run(home)["agents"]["main"]["transcripts"]["replaced"] == 1
    script.add(user("Even more"))
    assert run(home)["agents"]["main"]["transcripts"]["appended"] == 1
    assert count_events("user") == 5


def test_runs_of_a_schedule_in_a_log_that_was_cut(home):
    home.transcript(user("One"))
    home.write(
        "cron/jobs.json", {"jobs": [{"id": "job", "agentId": "main", "name": "n", "schedule": {}, "enabled": True}]}
    )
    path = home.root / "cron" / "runs" / "job.jsonl"
    path.parent.mkdir()
    chance, seen = random.Random(5), Counter()
    for round_ in range(30):
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        path.touch()
        beginning = b"".join(lines[: chance.randrange(len(lines) + 1)])
        fields = {"jobId": "job", "status": "ok"}
        new = [
            json.dumps(fields | {"ts": 1_771_642_800_000 + number, "summary": "s" * chance.randrange(300)})
            for number in range(round_ * 10, round_ * 10 + chance.randrange(9))
        ]
        cut_file(path, len(beginning), "".join(f"{entry}\n" for entry in new).encode())
        seen.update(new)
        run(home)
        assert Counter(CronRunLog.objects.values_list("entry_json", flat=True)) == seen
    CollectorSource.objects.filter(kind="cron_runs").update(tail_sha256="")
    os.utime(path, (1, 1))
    assert run(home)["schedules"]["cron_runs"] == 0


def test_steps_of_a_run_in_a_file_that_was_cut(home):
    script = home.transcript(user("One"))
    path = script.path.with_name(f"{script.session}.trajectory.jsonl")

    def step(number, size=0):
        record = {"traceSchema": "openclaw-trajectory", "sessionId": script.session, "type": "run.step", "runId": "run"}
        record |= {"ts": f"2026-02-21T03:00:{number:02d}.000Z", "data": {"trigger": "t" * size}}
        return json.dumps(record | ({"seq": number} if number % 2 else {})).encode() + b"\n"

    path.write_bytes(b"".join(step(number) for number in range(6)))
    assert run(home)["agents"]["main"]["steps"] == 6
    cut_file(path, len(step(0)), b"".join(step(number, 90) for number in range(20, 50)) + step(2))
    run(home)
    assert TrajectoryEvent.objects.using(MAIN).count() == 36


@pytest.mark.parametrize("has_generations", [True, False])
def test_records_in_a_database_that_were_numbered_anew(tmp_path, real_files, has_generations):
    home = SqliteHome(tmp_path / "openclaw")
    session = str(uuid.uuid4())
    home.session(session)
    texts = [f"told {number}" for number in range(6)]

    def write(texts, generation):
        with home.writing() as store:
            if not has_generations:
                store.execute("DROP TABLE IF EXISTS transcript_rewrite_watermarks")
            else:
                values = (session, generation)
                store.execute("INSERT OR REPLACE INTO transcript_rewrite_watermarks VALUES (?, ?, 1)", values)
            store.execute("DELETE FROM transcript_events WHERE session_id = ?", (session,))
            rows = [(session, seq, line(text).decode().strip(), 1) for seq, text in enumerate(texts)]
            store.executemany(
                "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, ?)", rows
            )

    write(texts, "a")
    run(home)
    again = ["told 0", "new 1", "new 2", "told 4", "new 4", "new 5", "new 6", "told 1", "told 1"]
    write(again, "b")
    run(home)
    expected = Counter(texts) | Counter(again)
    assert count_stored_texts(session) == expected
