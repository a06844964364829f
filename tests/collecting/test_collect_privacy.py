"""Words of people who opted out, and secrets, are not collected."""

import json
import os

import pytest

from agents.models import CollectorSource
from guardian.models import WorkspaceFile
from ledger.models import ConversationTurn, RejectedRecord, Session, TrajectoryEvent, TranscriptEvent
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, count_events, count_opens, run
from tests.homes import assistant, user

pytestmark = pytest.mark.django_db


def test_people_who_opted_out_are_not_kept(home):
    configuration.put("collector.optedOutSenders", ["carol", "dave"])
    envelope = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s"}\n```\n\n%s'
    group = home.transcript(
        user(envelope % ("bob", "Hello from Bob")),
        assistant("Hi Bob"),
        user(envelope % ("carol", "my secret")),
        assistant("I know the secret"),
        {"type": "compaction", "summary": "Carol told a secret"},
        user(envelope % ("bob", "Bye")),
    )
    direct = home.transcript(user("private words"))
    other = home.transcript(user("private words, too"))
    home.index(
        {
            "agent:main:irc:direct:dave": {"sessionId": direct.session},
            "agent:main:irc:direct:d7": {"sessionId": other.session, "origin": {"label": "dave"}},
            "agent:main:irc:group:#lab": {"sessionId": group.session},
        }
    )
    step = {"traceSchema": "openclaw-trajectory", "sessionId": direct.session, "type": "run.step", "runId": "run"}
    step |= {"seq": 1, "ts": "2026-02-21T03:00:01.000Z", "data": {"trigger": "private"}}
    home.write(f"agents/main/sessions/{direct.session}.trajectory.jsonl", json.dumps(step) + "\n")
    report = run(home)
    assert not TrajectoryEvent.objects.using(MAIN).exists()
    assert report["agents"]["main"]["opted_out_sessions"] == 2
    texts = " ".join(TranscriptEvent.objects.using(MAIN).values_list("event_json", flat=True))
    texts += " ".join(ConversationTurn.objects.using(MAIN).values_list("user_message_content", flat=True))
    assert "Hi Bob" in texts and "Bye" in texts
    assert "ecret" not in texts and "private" not in texts
    assert Session.objects.using(MAIN).get().withheld_count == 3


def test_a_summary_of_a_branch_with_their_words_is_not_kept(home):
    configuration.put("collector.optedOutSenders", ["carol"])
    envelope = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s"}\n```\n\n%s'
    script = home.transcript(user(envelope % ("bob", "Hello")), assistant("Hi"))
    script.add(user(envelope % ("carol", "my secret")), assistant("I know the secret"))
    script.add({"type": "branch_summary", "parentId": "r2", "fromId": "r2", "summary": "Carol told a secret"})
    home.index({"agent:main:irc:group:#lab": {"sessionId": script.session}})
    run(home)
    texts = " ".join(TranscriptEvent.objects.using(MAIN).values_list("event_json", flat=True))
    assert "Hi" in texts and "ecret" not in texts


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
    opened = count_opens(lambda: run(home, include_deleted=True))
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


def test_file_paths_are_only_in_the_source_book(home):
    home.transcript(user("One"))
    run(home)
    assert CollectorSource.objects.filter(kind="transcript").count() == 1
    session = Session.objects.using(MAIN).get()
    assert str(home.root) not in json.dumps(
        {field.name: str(getattr(session, field.name)) for field in session._meta.fields}
    )


def test_without_a_readable_index_nothing_new_is_read_while_somebody_opted_out(home):
    configuration.put("collector.optedOutSenders", ["dave"])
    script = home.transcript(user("private words"))
    home.write("agents/main/sessions/sessions.json", '{"agent:main:irc:direct:dave": {"sessionId": "')
    run(home)
    assert count_events() == 0
    home.index({"agent:main:irc:direct:dave": {"sessionId": script.session}})
    for opted_out, count in ((["dave"], 0), ([], 2)):
        configuration.put("collector.optedOutSenders", opted_out)
        run(home)
        assert count_events() == count


def test_a_transcript_that_nobody_named_waits_while_somebody_opted_out(home):
    configuration.put("collector.optedOutSenders", ["dave"])
    named = home.transcript(user("from the group"))
    home.transcript(user("whose words?"), suffix=".reset.2026-02-21T03-05-02.724Z")
    home.index({"agent:main:irc:group:#lab": {"sessionId": named.session}})
    report = run(home, include_deleted=True)
    assert report["agents"]["main"]["unnamed_sessions"] == 1
    assert count_events() == 2


def test_damaged_lines_are_noted_without_their_words_while_somebody_opted_out(home):
    configuration.put("collector.optedOutSenders", ["dave"])
    script = home.transcript(user("One")).raw('{"type":"message","secret":"words\n')
    home.index({"agent:main:irc:group:#lab": {"sessionId": script.session}})
    run(home)
    row = RejectedRecord.objects.using(MAIN).get()
    assert (row.reason, row.raw_preview) == ("truncated", "")


def test_a_second_name_of_a_key_is_not_read(home):
    home.transcript(user("One"))
    home.write("credentials/oauth.bin", "sk-fake-canary")
    (home.root / "workspace/memory").mkdir(parents=True)
    os.link(home.root / "credentials/oauth.bin", home.root / "workspace/memory/day.md")
    report = run(home)
    assert "hard link" in report["agents"]["main"]["notes"][0]
    assert not WorkspaceFile.objects.using(MAIN).exists()
