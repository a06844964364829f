"""Who opted out is not in a staged copy, and the site imports it as if it had withheld their words itself."""

import json

import pytest
import zstandard

from collecting import collect
from jobs.progress import Progress
from ledger.models import Session
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import dump_tables
from tests.collecting.staging.stage_runs import assert_whole, read_manifest, search, stage
from tests.homes import Home, assistant, user
from tests.sqlite_homes import SqliteHome

ENVELOPE = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s"}\n```\n\n%s'
WORDS = "the blue heron lands on the old pier at seven every single morning"
S1, S2 = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
DATABASE = "agents/main/agent/openclaw-agent.sqlite"


@pytest.fixture
def names(tmp_path):
    (tmp_path / "names.txt").write_text("carol-77\nirc:dave\n")
    return {"opted_out": str(tmp_path / "names.txt")}


def list_group_records():
    return (
        user(ENVELOPE % ("bob", "Hello from Bob")),
        assistant("Hi Bob"),
        user(ENVELOPE % ("carol-77", WORDS)),
        assistant("I know of the heron"),
        {"type": "compaction", "summary": "A heron was told of"},
        user(ENVELOPE % ("bob", "Bye")),
        assistant("Bye, Bob"),
    )


@pytest.fixture
def files(tmp_path):
    home = Home(tmp_path / "openclaw")
    group = home.transcript(*list_group_records(), session=S1)
    group.raw("no record: heron\n")
    direct = home.transcript(user("words between the two of us"))
    unnamed = home.transcript(user("words of somebody"))
    step = {"traceSchema": "openclaw-trajectory", "sessionId": S1, "type": "run.step", "runId": "run", "seq": 1}
    step |= {"ts": "2026-02-21T03:00:01.000Z", "data": {"prompt": WORDS}}
    home.write(f"agents/main/sessions/{S1}.trajectory.jsonl", json.dumps(step) + "\n")
    home.index(
        {
            "agent:main:irc:direct:dave": {"sessionId": direct.session, "updatedAt": 1},
            "agent:main:irc:group:#lab": {"sessionId": S1, "updatedAt": 1, "displayName": "Carol on herons"},
        }
    )
    home.direct, home.unnamed = direct.session, unnamed.session
    return home


def collect_both(home, target):
    """Import a home and its copy, both with these people registered."""
    configuration.put("collector.optedOutSenders", ["carol-77", "irc:dave"])
    for source, name in ((home.root, "ada"), (target, "bob")):
        collect.run({"source": str(source), "as": name, "include_deleted": True}, Progress())
    tables = dump_tables("agent_ada"), dump_tables("agent_bob")
    for dumped in tables:
        del dumped["rejected_records"]  # lines that are no records stay on their machine
    return tables


@pytest.mark.django_db
def test_files(files, names, real_files, tmp_path):
    stage(files.root, tmp_path / "out", **names)
    assert_whole(tmp_path / "out")
    assert search(tmp_path / "out", "carol", "dave", "heron", "between the two", "words of somebody") == []
    assert search(tmp_path / "out", "Hello from Bob") == [f"agents/main/sessions/{S1}.jsonl"]
    at_home, of_copy = collect_both(files, tmp_path / "out")
    assert of_copy == at_home
    assert Session.objects.using("agent_bob").get().withheld_count == 3
    withheld = {item["path"]: item["reason"] for item in read_manifest(tmp_path / "out")["withheld"]}
    assert withheld == {
        f"agents/main/sessions/{S1}.jsonl": "4 records are withheld, wholly or in part.",
        f"agents/main/sessions/{S1}.trajectory.jsonl": "It has withheld records.",
        f"agents/main/sessions/{files.direct}.jsonl": "It is a conversation with a person who opted out.",
        f"agents/main/sessions/{files.unnamed}.jsonl": (
            "No index names the people of its conversation, while somebody has opted out."
        ),
    }


@pytest.mark.django_db
def test_a_database(names, real_files, tmp_path):
    home = SqliteHome(tmp_path / "openclaw")
    home.session(S1, *list_group_records(), key="agent:main:irc:group:#lab", label="Carol on herons")
    home.append(S1, user(ENVELOPE % ("carol-77", f"{WORDS} " + "x" * 2000)))
    home.session(S2, user("words between the two of us"), key="agent:main:irc:direct:dave")
    home.archive("33333333-3333-4333-8333-333333333333", user(ENVELOPE % ("carol-77", WORDS)))
    with home.writing() as store:
        store.execute("INSERT INTO conversations VALUES ('c', 'irc', 'a', 'direct', 'dave', 'irc:dave', 'Dave')")
    stage(home.root, tmp_path / "out")  # before anybody opted out
    assert search(tmp_path / "out", "carol-77", "blue heron") == [DATABASE]
    stage(home.root, tmp_path / "out", **names)
    assert_whole(tmp_path / "out")
    assert search(tmp_path / "out", "carol", "dave", "heron", "between the two") == []
    data = (tmp_path / "out" / DATABASE).read_bytes()
    assert b"Hello from Bob" in data and zstandard.FRAME_HEADER not in data
    at_home, of_copy = collect_both(home, tmp_path / "out")
    assert of_copy["transcript_events"] == [row for row in at_home["transcript_events"] if "33333333" not in row]
    assert of_copy["conversation_turns"] == at_home["conversation_turns"]


def test_their_words_elsewhere_and_files_that_nobody_can_tell(files, names, tmp_path):
    files.write("workspace/MEMORY.md", f"Somebody said that {WORDS}.")
    files.write("workspace/USER.md", "Ask carol-77 about birds")
    files.write("workspace/SOUL.md", "I am kind")
    files.write("workspace/memory/with_carol-77.md", "a note")
    files.write("workspace/.openclaw-reflection/write-guardian.log.jsonl", "{}\n")
    files.write("cron/jobs.json", {"jobs": [{"id": "j", "payload": {"message": WORDS}}]})
    receipt = stage(files.root, tmp_path / "out", **names)
    assert_whole(tmp_path / "out")
    assert search(tmp_path / "out", "carol", "dave", "blue heron") == []
    others = [name for name in read_manifest(tmp_path / "out")["files"] if "sessions" not in name]
    assert others == ["openclaw.json", "workspace/SOUL.md"]
    reasons = {item["path"]: item["reason"] for item in receipt["withheld"]}
    assert reasons["workspace/MEMORY.md"] == "It has a name or words of a person who opted out."
    assert reasons["workspace/memory"] == "Its path has the name of a person who opted out."
    assert reasons["workspace/.openclaw-reflection/write-guardian.log.jsonl"] == "Nobody can tell whose words it holds."
    assert stage(files.root, tmp_path / "out", **names)["is_new"] is False


def test_who_opts_out_later_goes_from_the_copy_and_comes_back(files, names, tmp_path):
    first = stage(files.root, tmp_path / "out")
    assert search(tmp_path / "out", "carol-77", "blue heron")
    stage(files.root, tmp_path / "out", **names)
    assert_whole(tmp_path / "out")
    assert search(tmp_path / "out", "carol", "dave", "heron") == []
    stage(files.root, tmp_path / "out")
    assert_whole(tmp_path / "out")
    assert read_manifest(tmp_path / "out")["files"].keys() == {*read_manifest(tmp_path / "out")["files"]}
    assert len(read_manifest(tmp_path / "out")["files"]) == first["files"]
