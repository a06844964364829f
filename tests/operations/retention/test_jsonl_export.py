"""Conversations as JSON lines, one file a day: `exports/conversations-YYYY-MM-DD.jsonl`."""

import os
import stat

import orjson
import pytest

from jobs import automatic_tasks, execution
from jobs.models import JobRun
from jobs.progress import Progress
from ledger.models import ConversationTurn, Session
from openclaw_web.errors import Refused
from operations.retention import daily_files
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry
from tests.factories import SessionFactory
from tests.homes import assistant
from tests.ledger.transcript_records import channel_message, store_session

DAY = 86_400_000
NOW = 1_772_000_000_000  # 2026-02-25T06:13:20Z
pytestmark = pytest.mark.django_db
DB = "agent_ada"
FILE = "conversations-2026-02-24.jsonl"  # yesterday's file


@pytest.fixture
def exports(ada, settings, tmp_path, monkeypatch):
    settings.HOME_DIR = tmp_path / "home"
    (settings.HOME_DIR / "state").mkdir(parents=True)
    monkeypatch.setattr("openclaw_web.clock.now_ms", lambda: NOW)
    return settings.HOME_DIR / "exports"


def create_turn(number, *, days_ago=1, session=None, **more):
    session = session or SessionFactory(db=DB, channel_id="telegram")
    contents = {"user_message_content": f"Question {number}", "agent_message_content": f"Answer {number}"}
    return ConversationTurn.objects.using(DB).create(
        id=f"{session.id}:r{number}",
        session=session,
        turn_number=number,
        created_at=round(NOW - days_ago * DAY),
        first_seq=0,
        last_seq=1,
        user_message_id=f"r{number}",
        **contents | more,
    )


def write(**params):
    return daily_files.run(params, Progress())


def read_lines(path):
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def test_it_works(exports):
    first = create_turn(1, user_from="42", user_metadata='{"senderId": "42", "name": "Mei 🦞"}', agent_message_id="r2")
    create_turn(2, days_ago=2)
    create_turn(3, days_ago=0)  # today has not ended
    create_turn(4, days_ago=31)  # too old
    create_turn(5, is_active=False)
    done = write(by="mei")
    assert (done["files"], done["written"], done["turns"], done["removed"]) == (2, 2, 2, 0)
    names = sorted(path.name for path in exports.iterdir())
    assert names == ["conversations-2026-02-23.jsonl", "conversations-2026-02-24.jsonl"]
    path = exports / names[1]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    ids = {"id": first.id, "agentId": "ada", "sessionId": first.session_id, "channelId": "telegram", "turnNumber": 1}
    message = {"id": "r1", "content": "Question 1", "from": "42", "metadata": {"senderId": "42", "name": "Mei 🦞"}}
    reply = {"id": "r2", "content": "Answer 1"}
    assert read_lines(path) == [ids | {"userMessage": message, "agentReply": reply, "createdAt": first.created_at}]
    assert AuditEntry.objects.get(action="conversations_exported").actor == "mei"


def test_again_changes_nothing_and_what_came_late_comes_in(exports):
    session = create_turn(1).session
    write()
    path = exports / "conversations-2026-02-24.jsonl"
    before = path.stat()
    assert write()["written"] == 0
    assert path.stat().st_ino == before.st_ino
    create_turn(2, session=session)
    assert write()["written"] == 1 and len(read_lines(path)) == 2
    ConversationTurn.objects.using(DB).all().delete()
    assert write()["files"] == 0 and not path.exists()


def test_people_who_opted_out_are_in_none(exports):
    quoted = '```json\n{"sender_id": "42", "body": "tea"}\n```'
    quoting = f"Replied message (untrusted, for context):\n{quoted}\n\nYes"
    store_session(
        *(channel_message("42", "One"), assistant("To 42"), channel_message("Mei", "Two"), assistant("To Mei")),
        *(channel_message("44", quoting), assistant("To 44"), channel_message("44", "Four"), assistant("To 44")),
    )
    store_session(channel_message("", "Three"), assistant("To 43"), session_id="s2")
    sessions = Session.objects.using(DB)
    sessions.filter(id="s2").update(session_key="agent:ada:telegram:direct:43", origin="direct")
    ConversationTurn.objects.using(DB).update(created_at=NOW - DAY)
    write()
    path = exports / "conversations-2026-02-24.jsonl"
    assert len(read_lines(path)) == 5
    configuration.put("collector.optedOutSenders", ["42", "Mei", "43"])
    write()
    assert [line["turnNumber"] for line in read_lines(path)] == [4]


def test_old_files_go_and_others_stay(exports):
    exports.mkdir()
    for name in ("conversations-2025-01-01.jsonl", "conversations-x.jsonl", "mine-2025-01-01.jsonl"):
        (exports / name).write_text("{}\n")
    (exports / "01M802QPCKD3RD2B1CZH9PSDC7").mkdir()
    assert write()["removed"] == 1
    remaining = {path.name for path in exports.iterdir()}
    assert remaining == {"conversations-x.jsonl", "mine-2025-01-01.jsonl", "01M802QPCKD3RD2B1CZH9PSDC7"}
    configuration.put("jsonlExport.retentionDays", 1)
    create_turn(1)
    create_turn(2, days_ago=2)
    assert write()["files"] == 1


def test_names_that_only_look_like_ours_stay(exports, tmp_path):
    exports.mkdir()
    (tmp_path / "precious").write_text("precious")
    (exports / "conversations-2020-01-01.jsonl").symlink_to(tmp_path / "precious")
    for name in ("conversations-2020-13-01.jsonl", "conversations-٢٠٢٠-01-01.jsonl", ".conversations.mine"):
        (exports / name).write_text("precious")
    (exports / "conversations-2020-01-02.jsonl").mkdir()
    create_turn(1)
    assert write()["removed"] == 1 and (tmp_path / "precious").read_text() == "precious"
    remaining = {path.name for path in exports.iterdir()} - {FILE}
    assert remaining == {
        *("conversations-2020-13-01.jsonl", "conversations-٢٠٢٠-01-01.jsonl", ".conversations.mine"),
        "conversations-2020-01-02.jsonl",
    }


def test_a_folder_in_the_place_of_a_file_is_said_and_a_link_is_replaced_not_followed(exports, tmp_path):
    create_turn(1)
    (exports / FILE).mkdir(parents=True)
    with pytest.raises(Refused, match="is a folder"):
        write()
    assert not AuditEntry.objects.filter(action="conversations_exported").exists()
    (exports / FILE).rmdir()
    (tmp_path / "precious").write_text("precious")
    os.symlink(tmp_path / "precious", exports / FILE)
    write()
    assert (tmp_path / "precious").read_text() == "precious" and not (exports / FILE).is_symlink()


def test_days_end_at_midnight_utc(exports):
    midnight = NOW // DAY * DAY
    session = SessionFactory(db=DB)
    for number, moment in enumerate((midnight - DAY - 1, midnight - DAY, midnight - 1, midnight), 1):
        create_turn(number, session=session, days_ago=(NOW - moment) / DAY)
    write()
    numbers = {
        path.name[14:24]: [line["turnNumber"] for line in read_lines(path)]
        for path in exports.glob("conversations-*.jsonl")
    }
    assert numbers == {"2026-02-23": [1], "2026-02-24": [2, 3]}


def test_many_turns_of_one_moment(exports):
    session = SessionFactory(db=DB)
    for number in range(1, 1_203):
        create_turn(number, session=session)
    assert write()["turns"] == 1_202
    numbers = [line["turnNumber"] for line in read_lines(exports / "conversations-2026-02-24.jsonl")]
    assert sorted(numbers) == list(range(1, 1_203))


def test_hostile_text(exports):
    text = "line\nbreak \u2028 \x00 \u202e 🦞 \\ud83d"
    create_turn(1, user_message_content=text, agent_message_content=text, user_metadata="[1]")
    write()
    path = exports / "conversations-2026-02-24.jsonl"
    assert path.read_bytes().count(b"\n") == 1
    assert read_lines(path)[0]["userMessage"]["content"] == text


def test_the_tick_does_it_once_a_day(exports):
    create_turn(1)
    configuration.put("schedule.findingsScanMinutes", 0)
    assert automatic_tasks.start_due() == []
    configuration.put("jsonlExport.enabled", True)
    (job,) = automatic_tasks.start_due()
    assert job.kind == "jsonl_export" and automatic_tasks.start_due() == []
    assert execution.run(job.id).state == JobRun.State.FINISHED
    assert automatic_tasks.start_due() == []
    assert (exports / "conversations-2026-02-24.jsonl").exists()


def test_retention_by_the_tick(exports):
    configuration.put("retentionDays", 365)
    (job,) = automatic_tasks.start_due()
    (state,) = [state for state in automatic_tasks.read_tasks() if state.kind == "retention"]
    assert job.kind == "retention" and state.interval_ms == DAY
    assert Session.objects.using(DB).count() == 0
