import json
import os
import sys

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from agents import configuration
from agents.models import Agent, CollectorSource
from guardian.models import FileSnapshot, WorkspaceFile
from ledger.models import ConversationTurn, PromptReport, RejectedRecord, Session, TranscriptEvent, TranscriptSnapshot
from operations import collect
from operations.models import AgentDailyStat, AgentSummary, CronJob, CronRunLog, JobRun, SubagentRun
from operations.progress import Progress
from tests.homes import Home, assistant, result, user

pytestmark = pytest.mark.django_db
MAIN = "agent_main"


@pytest.fixture
def home(tmp_path, real_files):
    return Home(tmp_path / "openclaw")


def run(home, **params):
    return collect.run({"source": str(home.root), **params}, Progress())


def events(kind=None, db=MAIN):
    rows = TranscriptEvent.objects.using(db)
    return (rows.filter(kind=kind) if kind else rows).count()


def test_it_works(home):
    script = home.transcript(user("List the files 请列出"), assistant("I will.", ("c1", "exec", {"command": "ls"})))
    script.add(result("c1", "a.txt"), assistant("There is one file."))
    found = run(home)
    assert found["records"] == 5
    assert found["rejected"] == 0
    turn = ConversationTurn.objects.using(MAIN).get()
    assert (turn.id, turn.turn_number) == (f"{script.session}:r1", 1)
    assert (turn.user_message_content, turn.agent_message_content) == ("List the files 请列出", "There is one file.")
    assert (turn.tool_call_count, turn.total_tokens, turn.cost_usd) == (1, 230, 0.02)
    session = Session.objects.using(MAIN).get()
    assert (session.title, session.record_count, session.turn_count) == ("List the files 请列出", 5, 1)
    assert AgentSummary.objects.get().turn_count == 1
    assert AgentDailyStat.objects.get().total_tokens == 230


def test_a_second_run_on_an_unchanged_home_opens_no_transcript(home):
    home.transcript(user("Hello"), assistant("Hi"))
    run(home)
    opened = opens_during(lambda: run(home))
    assert not [path for path in opened if path.endswith(".jsonl")]
    assert events() == 3


def test_appended_lines_are_read_from_where_the_last_run_stopped(home):
    script = home.transcript(user("One"), assistant("1"))
    run(home)
    size = script.path.stat().st_size
    script.add(user("Two"), assistant("2"))
    found = run(home)
    assert found["bytes_read"] == script.path.stat().st_size - size
    assert found["agents"]["main"]["transcripts"]["appended"] == 1
    turns = ConversationTurn.objects.using(MAIN).order_by("turn_number")
    assert [turn.agent_message_content for turn in turns] == ["1", "2"]
    assert AgentDailyStat.objects.get().turn_count == 2


def test_lines_appended_to_an_open_turn_join_it(home):
    script = home.transcript(user("One"), assistant("", ("c1", "exec", {"command": "ls"})))
    run(home)
    script.add(result("c1", "x", details={"exitCode": 3}), assistant("It failed."))
    run(home)
    turn = ConversationTurn.objects.using(MAIN).get()
    assert (turn.agent_message_content, turn.error_count, turn.record_count, turn.total_tokens) == (
        "It failed.",
        1,
        4,
        230,
    )
    assert Session.objects.using(MAIN).get().error_count == 1


def test_an_unfinished_last_line_waits_for_its_end(home):
    script = home.transcript(user("One")).raw('{"type":"message","id":"r2","parentId":"r1","timestamp":"2026')
    found = run(home)
    assert found["agents"]["main"]["unfinished"] == 1
    assert (events(), found["rejected"]) == (2, 0)
    script.raw('-02-21T03:00:09.000Z","message":{"role":"assistant","content":"Done"}}\n')
    run(home)
    assert ConversationTurn.objects.using(MAIN).get().agent_message_content == "Done"


def test_a_replaced_file_is_read_again_without_duplicates(home):
    script = home.transcript(user("One"), assistant("1"), user("Two"), assistant("2"))
    run(home)
    copy = script.path.with_suffix(".tmp")
    copy.write_bytes(script.path.read_bytes())
    os.replace(copy, script.path)
    script.add(user("Three"))
    found = run(home)
    assert found["agents"]["main"]["transcripts"]["replaced"] == 1
    assert found["agents"]["main"]["repeated"] == 5
    assert (events(), ConversationTurn.objects.using(MAIN).count()) == (6, 3)


def test_a_truncated_file_is_read_again_and_keeps_what_was_seen(home):
    script = home.transcript(user("One"), assistant("1"), user("Two"), assistant("2"))
    run(home)
    lines = script.path.read_bytes().splitlines(keepends=True)
    script.path.write_bytes(b"".join(lines[:3]))
    found = run(home)
    assert found["agents"]["main"]["transcripts"]["truncated"] == 1
    assert events() == 5
    assert [turn.is_active for turn in ConversationTurn.objects.using(MAIN).order_by("turn_number")] == [True, False]


def test_a_rewound_branch_is_flagged_and_keeps_its_turn_numbers(home):
    script = home.transcript(user("One"), assistant("1"), user("Two"), assistant("2"))
    run(home)
    script.add(user("Two again") | {"parentId": "r2"}, assistant("better"))
    run(home)
    turns = ConversationTurn.objects.using(MAIN).order_by("turn_number")
    assert [(turn.turn_number, turn.user_message_content, turn.is_active) for turn in turns] == [
        (1, "One", True),
        (2, "Two", False),
        (3, "Two again", True),
    ]
    assert events() - TranscriptEvent.objects.using(MAIN).filter(is_active=True).count() == 2
    assert Session.objects.using(MAIN).get().turn_count == 2


DAMAGE = {
    "not_json": b"ERROR: disk full",
    "truncated": b'{"type":"message","id":"x',
    "not_utf8": b'{"type":"message","id":"\xff\xfe"}',
    "nul_bytes": b"\x00" * 40,
    "glued": b'{"type":"custom"}{"type":"custom"}',
    "not_an_object": b"[1, 2]",
    "missing_type": b'{"id":"x"}',
    "absurd_number": b'{"type":"custom","data":{"n":1e999}}',
}


@pytest.mark.parametrize("reason", DAMAGE)
def test_a_damaged_line_is_kept_with_its_place_and_stops_nothing(home, reason):
    script = home.transcript(user("One"))
    offset = script.path.stat().st_size
    script.raw(DAMAGE[reason] + b"\n").add(assistant("1"))
    found = run(home)
    assert found["agents"]["main"]["rejected"] == {reason: 1}
    row = RejectedRecord.objects.using(MAIN).get()
    assert (row.reason, row.byte_offset, row.file) == (reason, offset, f"agents/main/sessions/{script.path.name}")
    assert ConversationTurn.objects.using(MAIN).get().agent_message_content == "1"
    assert AgentSummary.objects.get().rejected_count == 1
    run(home)
    assert RejectedRecord.objects.using(MAIN).count() == 1


def test_a_lost_line_does_not_cut_the_session_in_two(home):
    script = home.transcript(user("One"), assistant("1"))
    script.count += 1
    script.last = "r3"
    script.raw(b"not a record\n").add(user("Three"), assistant("3"))
    run(home)
    assert Session.objects.using(MAIN).get().turn_count == 2


def test_an_unknown_type_is_kept_raw(home):
    home.transcript(user("One"), {"type": "future_thing", "x": {"y": [1]}})
    run(home)
    event = TranscriptEvent.objects.using(MAIN).get(kind="unknown")
    assert json.loads(event.event_json)["x"] == {"y": [1]}


def test_both_dialects_come_to_the_same(home):
    call = {"type": "tool_use", "id": "c1", "name": "shell", "input": {"command": "ls"}}
    spelled = {
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Let me look."}, call],
        "model": "claude",
        "usage": {"inputTokens": 5000, "outputTokens": 200},
    }
    home.transcript(user("One"), {"type": "message", "message": spelled})
    run(home)
    event = TranscriptEvent.objects.using(MAIN).get(kind="assistant")
    assert (event.input_tokens, event.output_tokens, event.total_tokens, event.tool_call_count) == (5000, 200, 5200, 1)


def test_synthetic_assistants_are_in_no_sum(home):
    home.transcript(user("One"), assistant("1"), assistant("1", model="delivery-mirror"))
    run(home)
    session = Session.objects.using(MAIN).get()
    assert (session.total_tokens, session.record_count) == (115, 4)
    turn = ConversationTurn.objects.using(MAIN).get()
    assert turn.agent_message_id == "r2"
    assert TranscriptEvent.objects.using(MAIN).filter(is_synthetic=True).count() == 1


@pytest.mark.parametrize(
    "more",
    [
        {"isError": True},
        {"details": {"status": "error"}},
        {"details": {"status": "failed"}},
        {"details": {"exitCode": 2}},
    ],
)
def test_every_way_to_fail_counts(home, more):
    home.transcript(user("One"), assistant("", ("c1", "exec", {})), result("c1", **more))
    run(home)
    assert Session.objects.using(MAIN).get().error_count == 1


def test_long_texts_are_capped_and_kept_whole_and_a_repeated_output_is_dropped(home):
    text = "0123456789" * 5000
    home.transcript(user("One"), assistant("", ("c1", "exec", {})), result("c1", text, details={"aggregated": text}))
    run(home)
    event = TranscriptEvent.objects.using(MAIN).get(kind="tool_result")
    assert len(event.event_json) < 9000
    assert json.loads(event.trim_json) == {"aggregated": 50000, "capped": [["message.content.0.text", 50000]]}
    from ledger.branches import full_record

    assert full_record(event)["message"]["content"][0]["text"] == text
    assert "aggregated" not in full_record(event)["message"]["details"]


def test_compactions_become_snapshots_with_their_files(home):
    summary = "## Goal\nfix\n<read-files>\n- AGENTS.md\n</read-files>\n\n<modified-files>\nMEMORY.md\n</modified-files>"
    home.transcript(user("One"), assistant("1"), {"type": "compaction", "summary": summary, "tokensBefore": 52179})
    run(home)
    snapshot = TranscriptSnapshot.objects.using(MAIN).get()
    about = json.loads(snapshot.metadata_json)
    assert (about["readFiles"], about["modifiedFiles"], about["tokensBefore"]) == (["AGENTS.md"], ["MEMORY.md"], 52179)
    assert snapshot.event_count == 2


def test_deleted_and_reset_sessions_wait_until_asked_for(home):
    script = home.transcript(user("Old"), suffix=".deleted.2026-02-21T03-04-57.476Z")
    found = run(home)
    assert found["agents"]["main"]["transcripts"]["skipped_deleted"] == 1
    assert events() == 0
    run(home, include_deleted=True)
    session = Session.objects.using(MAIN).get()
    assert (session.id, session.source_state) == (script.session, "deleted")


def test_a_session_that_is_reset_later_keeps_its_rows(home):
    script = home.transcript(user("Old"))
    run(home)
    script.path.rename(f"{script.path}.reset.2026-02-21T03-05-02.724Z")
    run(home)
    assert (Session.objects.using(MAIN).get().source_state, events()) == ("reset", 2)


def test_the_index_names_sessions_and_keeps_skills_once(home):
    one, two = home.transcript(user("One")), home.transcript(user("Two"))
    skills = {"prompt": "a long text", "skills": [{"name": "weather"}]}
    report = {
        "injectedWorkspaceFiles": [{"name": "SOUL.md", "rawChars": 7, "path": "/secret"}],
        "systemPrompt": {"chars": 9},
    }
    entry = {"updatedAt": 1795231048843, "skillsSnapshot": skills, "systemPromptReport": report}
    delivery = {"channel": "irc", "to": "irc:alice", "accountId": "default"}
    home.index(
        {
            "agent:main:irc:direct:alice": {"sessionId": one.session, "deliveryContext": delivery, **entry},
            "agent:main:cron:j1": {"sessionId": two.session, **entry},
            f"agent:main:cron:j1:run:{two.session}": {"sessionId": two.session, **entry},
        }
    )
    run(home)
    first, second = (Session.objects.using(MAIN).get(id=script.session) for script in (one, two))
    assert (first.channel_id, first.conversation_target, first.origin) == ("irc", "alice", "direct")
    assert (second.origin, second.session_key) == ("cron", f"agent:main:cron:j1:run:{two.session}")
    stored = json.loads(PromptReport.objects.using(MAIN).get().report_json)
    assert stored == {
        "files": [{"name": "SOUL.md", "rawChars": 7}],
        "skills": [{"name": "weather"}],
        "systemPromptChars": 9,
    }


def test_the_nested_index_of_the_specification_is_read(home):
    script = home.transcript(user("One"))
    entry = {"activeSessionId": script.session, "model": {"provider": "a", "model": "m"}, "skills": [{"name": "notes"}]}
    home.index({"version": 2, "agents": {"agent:main:main": entry | {"deliveryContext": {"channel": "telegram"}}}})
    run(home)
    session = Session.objects.using(MAIN).get()
    assert (session.session_key, session.channel_id, session.origin) == ("agent:main:main", "telegram", "main")


def test_a_damaged_index_is_rejected_and_transcripts_are_read(home):
    home.transcript(user("One"))
    home.write("agents/main/sessions/sessions.json", "{oops")
    assert run(home)["agents"]["main"]["rejected"] == {"bad_index": 1}
    assert events() == 2


def test_workspace_files_are_kept_as_versions(home):
    home.write("workspace/MEMORY.md", "- tabs\n")
    home.write("workspace/AGENTS.md", "rules")
    home.write("workspace/memory/2026-02-21.md", "today")
    home.write("workspace/reports/big.md", "not ours")
    run(home)
    home.write("workspace/MEMORY.md", "- tabs\n- mornings\n")
    os.utime(home.root / "workspace/MEMORY.md", (2_000_000_000, 2_000_000_000))
    run(home)
    versions = FileSnapshot.objects.using(MAIN).order_by("created_at")
    assert [(row.file_name, row.content) for row in versions] == [
        ("MEMORY.md", "- tabs\n"),
        ("MEMORY.md", "- tabs\n- mornings\n"),
    ]
    names = WorkspaceFile.objects.using(MAIN).order_by("file_name").values_list("file_name", flat=True)
    assert list(names) == ["AGENTS.md", "memory/2026-02-21.md"]


def test_cron_jobs_runs_and_subagents_in_both_spellings(home):
    home.write(
        "cron/jobs.json",
        {
            "jobs": [
                {
                    "id": "j1",
                    "agentId": "main",
                    "payload": {"message": "Check"},
                    "schedule": {"kind": "every"},
                    "createdAtMs": 1795230341558,
                },
                {"id": "j2", "prompt": "Check", "schedule": {"kind": "interval"}, "createdAt": "2026-01-31T00:00:00Z"},
            ]
        },
    )
    home.write("cron/runs/j1.jsonl", '{"ts":1795230362162,"jobId":"j1","status":"ok","durationMs":156}\nnot json\n')
    home.write("cron/runs/j2.jsonl", '{"timestamp":"2026-01-31T00:00:00Z","jobId":"j2","status":"error"}\n')
    home.write(
        "subagents/runs.json",
        {"runs": {"u1": {"childSessionKey": "agent:main:subagent:x", "createdAt": 1795230326903}}},
    )
    found = run(home)["schedules"]
    assert found == {"cron_jobs": 2, "cron_runs": 2, "subagent_runs": 1, "rejected": 1}
    assert set(CronJob.objects.values_list("prompt", flat=True)) == {"Check"}
    assert CronRunLog.objects.count() == 2
    assert SubagentRun.objects.get().agent_id == "main"
    assert run(home)["schedules"]["cron_runs"] == 0


def test_people_who_opted_out_are_not_kept(home):
    configuration.put("collector.optedOutSenders", ["carol", "dave"])
    envelope = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s"}\n```\n\n%s'
    home.transcript(
        user(envelope % ("bob", "Hello from Bob")),
        assistant("Hi Bob"),
        user(envelope % ("carol", "my secret")),
        assistant("I know the secret"),
        {"type": "compaction", "summary": "Carol told a secret"},
        user(envelope % ("bob", "Bye")),
    )
    direct = home.transcript(user("private words"))
    home.index({"agent:main:irc:direct:dave": {"sessionId": direct.session}})
    found = run(home)
    assert found["agents"]["main"]["opted_out_sessions"] == 1
    texts = " ".join(TranscriptEvent.objects.using(MAIN).values_list("event_json", flat=True))
    texts += " ".join(ConversationTurn.objects.using(MAIN).values_list("user_message_content", flat=True))
    assert "Hi Bob" in texts
    assert "Bye" in texts
    assert "ecret" not in texts
    assert "private" not in texts
    assert Session.objects.using(MAIN).get().withheld_count == 3


def test_places_of_secrets_are_never_opened(home):
    home.transcript(user("One"))
    secrets = (
        "agents/main/agent/auth-profiles.json",
        "agents/main/agent/models.json",
        "credentials/telegram.json",
        "identity/device.json",
        "devices/paired.json",
        "exec-approvals.json",
        "openclaw.json.bak",
        "logs/gateway.log",
    )
    for name in secrets:
        home.write(name, {"key": "sk-fake-canary"})
    home.write("workspace/USER.md", "me")
    (home.root / "workspace/MEMORY.md").symlink_to(home.root / "credentials/telegram.json")
    (home.root / "workspace/memory").symlink_to(home.root / "credentials")
    (home.root / "agents/main/sessions/00000000-0000-4000-8000-000000000000.jsonl").symlink_to(
        home.root / "openclaw.json"
    )
    opened = opens_during(lambda: run(home, include_deleted=True))
    inside = {os.path.relpath(path, home.root) for path in opened if path.startswith(str(home.root))}
    assert not inside & set(secrets)
    assert not {name for name in inside if name.startswith(("credentials", "workspace/memory/"))}
    for file in (home.root.parent / "agents").rglob("*.sqlite*"):
        assert b"sk-fake-canary" not in file.read_bytes()


def test_the_source_is_left_as_it_was(home):
    home.transcript(user("One"))
    home.write("workspace/MEMORY.md", "- tabs\n")
    before = {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in home.root.rglob("*")}
    run(home)
    assert {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in home.root.rglob("*")} == before


def test_a_second_home_with_the_same_agent_needs_another_name(home, tmp_path):
    home.transcript(user("One"))
    run(home)
    other = Home(tmp_path / "other", agents=("main", "research"))
    other.transcript(user("Two"))
    with pytest.raises(Exception, match="--as NAME"):
        run(other)
    run(other, **{"as": "laptop"})
    assert set(Agent.objects.values_list("agent_id", flat=True)) == {"main", "laptop", "laptop-research"}
    with pytest.raises(Exception, match="already"):
        run(home, **{"as": "again"})
    assert Agent.objects.count() == 3


def test_the_command_says_what_it_found_and_how_it_went(home, capsys):
    home.transcript(user("One")).raw("oops\n")
    with pytest.raises(SystemExit) as status:
        call_command("collect", source=str(home.root), json=True)
    assert status.value.code == 1
    receipt = json.loads(capsys.readouterr().out)
    assert (receipt["schema"], receipt["records"], receipt["rejected"]) == ("openclaw-web.collect.v1", 2, 1)
    assert JobRun.objects.get().state == "finished"
    with pytest.raises(CommandError, match="There is no folder") as refused:
        call_command("collect", source=str(home.root / "nowhere"))
    assert refused.value.returncode == 2


def test_file_paths_are_only_in_the_source_book(home):
    home.transcript(user("One"))
    run(home)
    assert CollectorSource.objects.filter(kind="transcript").count() == 1
    session = Session.objects.using(MAIN).get()
    assert str(home.root) not in json.dumps(
        {field.name: str(getattr(session, field.name)) for field in session._meta.fields}
    )


def opens_during(function):
    """Every path that is opened while `function` runs, by whatever means."""
    opened, listening = [], [True]

    def hook(event, args):
        if listening and event == "open" and isinstance(args[0], str | bytes | os.PathLike):
            opened.append(os.fsdecode(args[0]))

    sys.addaudithook(hook)
    try:
        function()
    finally:
        listening.clear()
    return opened
