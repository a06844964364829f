"""Collecting messages with the envelopes that OpenClaw puts around them.

Both spellings, both layouts, with and without people who opted out.
"""

import io
import json
import uuid
from pathlib import Path

import orjson
import pytest
from django.core.management import call_command
from django.db import connections

from agents import databases
from agents.models import Agent
from collecting import collect, report
from datasets.services import make_samples
from jobs.progress import Progress
from ledger.collectors.envelopes import respell_text
from ledger.models import ConversationTurn, RejectedRecord, Session
from overview.models import AgentSummary
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, count_events, run
from tests.factories import JobFactory
from tests.homes import Home, assistant, user
from tests.ledger.collectors.envelope_table import MARK
from tests.sqlite_homes import SqliteHome

HOMES = Path(__file__).resolve().parents[4] / "shared" / "data"
FILES, MIGRATED = "openclaw-2026.2.26", "openclaw-2026.2.26-migrated-2026.9.6"
OPTED_OUT = "collector.optedOutSenders"
ONE = str(uuid.UUID(int=1))
GROUP = "agent:main:irc:group:#lab"
needs_homes = pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine")
pytestmark = pytest.mark.django_db


def old(label, **value):
    return f"{label} (untrusted metadata):\n```json\n{json.dumps(value)}\n```\n\n"


def new(label, **value):
    return respell_text(old(label, **value))


def build(kind, tmp_path, key, *records):
    """A home of either layout with one session."""
    home = (Home if kind == "files" else SqliteHome)(tmp_path / "openclaw")
    if kind == "files":
        home.index({key: {"sessionId": home.transcript(*records, session=ONE).session}})
    else:
        home.session(ONE, *records, key=key)
    return home


def read_agent_file():
    """Return everything that the agent's file holds, as one text."""
    connections[MAIN].cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return databases.get_path("main").read_bytes().decode(errors="replace")


@pytest.mark.parametrize("kind", ["files", "database"])
@pytest.mark.parametrize("spelled", [old, new])
def test_words_senders_and_titles_are_free_of_envelopes(tmp_path, real_files, spelled, kind):
    words = spelled("Conversation info", timestamp="Sat") + spelled("Sender", id="42", name="Ada") + "Good morning"
    run(build(kind, tmp_path, GROUP, user(words), assistant("Hello")))
    turn = ConversationTurn.objects.using(MAIN).get()
    assert (turn.user_message_content, turn.user_from) == ("Good morning", "42")
    assert Session.objects.using(MAIN).get().title == "Good morning"


@pytest.mark.parametrize("kind", ["files", "database"])
@pytest.mark.parametrize("spelled", [old, new])
def test_in_a_group_what_cannot_be_told_is_withheld_and_counted(tmp_path, real_files, spelled, kind):
    configuration.put(OPTED_OUT, ["bob"])
    ada = spelled("Conversation info", sender_id="42", sender="Ada")
    quote = spelled("Forwarded message context", **{"from": "B."})
    records = [
        *(user(ada + "kept words"), assistant("kept reply")),
        *(user(spelled("Sender", name="Bob") + "hidden one"), assistant("hidden reply")),
        *(user(spelled("Conversation info", timestamp="Sat") + "hidden two"), assistant("hidden reply")),
        user(f"Sender: {MARK}\n```json\n{{broken\n```\n\nhidden three"),
        user(f"{ada}{quote}hidden four"),
        {"type": "compaction", "summary": "hidden five"},
        user(ada + "kept as well"),
    ]
    result = run(build(kind, tmp_path, GROUP, *records))
    agent_report = result["agents"]["main"]
    assert agent_report["withheld"] == {"answer": 3, "quote": 1, "sender": 1, "unknown_sender": 2}
    assert agent_report["records"]["withheld"] == 7 == Session.objects.using(MAIN).get().withheld_count
    assert agent_report["unknown_envelopes"] == 1
    text = read_agent_file()
    assert "kept words" in text and "kept as well" in text
    assert "hidden" not in text
    sentence = report.in_words(result)
    assert "withheld: follows a withheld record 3, may quote somebody who opted out 1, sender opted out 1" in sentence
    assert "1 record with an unknown envelope" in sentence


@pytest.mark.parametrize(
    ("key", "count"),
    [
        ("agent:main:main", 0),
        ("agent:main:irc:direct:ada", 0),
        ("agent:main:direct:ada", 0),
        ("agent:main:irc:default:direct:ada", 0),
        ("agent:main:cron:job", 0),
        ("agent:main:openai:x", 0),
        (GROUP, 2),
        ("agent:main:slack:channel:c1:thread:9", 2),
        ("agent:main:something", 2),
        ("what is this", 2),
    ],
)
def test_where_one_person_speaks_nobody_needs_to_be_named(tmp_path, real_files, key, count):
    configuration.put(OPTED_OUT, ["bob"])
    run(build("files", tmp_path, key, user("Who am I?"), assistant("I cannot tell")))
    assert count_events("withheld") == count


@pytest.mark.parametrize("key", ["agent:main:direct:bob", "agent:main:irc:default:direct:bob", "agent:main:irc:dm:Bob"])
def test_a_direct_chat_is_theirs_however_its_key_is_spelled(tmp_path, real_files, key):
    configuration.put(OPTED_OUT, ["bob"])
    result = run(build("files", tmp_path, key, user("private"), assistant("also private")))
    assert result["agents"]["main"]["opted_out_sessions"] == 1
    assert count_events() == 0


def test_with_nobody_opted_out_nothing_is_withheld(tmp_path, real_files):
    result = run(build("files", tmp_path, GROUP, user("Who am I?"), user(old("Sender", name="Bob") + "x")))
    assert (result["agents"]["main"]["withheld"], count_events("withheld")) == ({}, 0)


def test_an_archive_that_only_its_database_names_is_of_its_key(tmp_path, real_files):
    configuration.put(OPTED_OUT, ["bob"])
    home = SqliteHome(tmp_path / "openclaw")
    home.archive(ONE, user("Who am I?"), assistant("My owner"))
    run(home, include_deleted=True)
    assert count_events("withheld") == 0 < count_events("user")


@pytest.mark.parametrize("name", ["label", "displayName"])
@pytest.mark.parametrize(
    "title",
    [
        "Conversation info (untrusted metadata): ```json {…",
        "[Sat 2026-11-21 11:16] Sender (untrusted metadata): ```json {…",
        "Sender: ⟦openclaw:ctx⟧ ```json…",
        "Sender: ⟦openclaw…",
    ],
)
def test_a_title_that_begins_an_envelope_is_none(home, title, name):
    script = home.transcript(user("Good morning"))
    home.index({"agent:main:irc:direct:ada": {"sessionId": script.session, name: title}})
    run(home)
    session = Session.objects.using(MAIN).get()
    assert (session.title, session.metadata) == ("Good morning", None)


def test_while_somebody_is_opted_out_a_group_has_no_title_made_of_first_words(home):
    configuration.put(OPTED_OUT, ["bob"])
    words = new("Sender", id="42") + "Good morning"
    first, second = home.transcript(user(words)), home.transcript(user(words))
    home.index(
        {
            GROUP: {"sessionId": first.session, "displayName": "hidden words"},
            "agent:main:irc:group:#two": {"sessionId": second.session, "displayName": "irc:#two"},
        }
    )
    run(home)
    titles = dict(Session.objects.using(MAIN).values_list("id", "title"))
    assert titles == {first.session: "Good morning", second.session: "irc:#two"}
    assert "hidden" not in read_agent_file()


# A record that OpenClaw's doctor rewrote in place


def rewrite_records(home, session=ONE):
    with home.writing() as store:
        rows = store.execute(
            "SELECT seq, event_json FROM transcript_events WHERE session_id = ?", (session,)
        ).fetchall()
        for seq, text in rows:
            record = json.loads(text)
            for block in record.get("message", {}).get("content", ()):
                block["text"] = respell_text(block["text"])
            values = (json.dumps(record, ensure_ascii=False, separators=(",", ":")), session, seq)
            store.execute("UPDATE transcript_events SET event_json = ? WHERE session_id = ? AND seq = ?", values)
        store.execute("UPDATE transcript_rewrite_watermarks SET generation = 'g2'")


def test_a_rewritten_record_is_no_second_one(tmp_path, real_files):
    words = old("Conversation info", sender_id="42") + "Good morning"
    home = build("database", tmp_path, GROUP, user(words), assistant("Hello"))
    first = run(home)
    rewrite_records(home)
    again = run(home)
    assert (first["records"], again["records"], again["rejected"]) == (3, 0, 0)
    assert again["agents"]["main"]["transcripts"]["replaced"] == 1
    assert ConversationTurn.objects.using(MAIN).get().user_message_content == "Good morning"


def test_both_spellings_of_a_record_in_one_file_are_one_record(tmp_path, real_files):
    words = old("Sender", id="42") + "Good morning"
    home = Home(tmp_path / "openclaw")
    script = home.transcript(user(words), session=ONE)
    script.add({**user(respell_text(words)), "id": "r1", "parentId": None, "timestamp": "2026-02-21T03:00:01.000Z"})
    script.add({**user("another"), "id": "r1"})
    agent_report = run(home)["agents"]["main"]
    assert (agent_report["repeated"], agent_report["rejected"], agent_report["records"]["user"]) == (
        1,
        {},
        2,
    )


# Envelopes that are not understood are counted and shown


def test_an_envelope_that_is_not_understood_is_counted_and_listed(as_admin, home):
    odd = "[Carrier Lab id:-100 2026-01-30 11:10 GMT+8] Ada: Hello"
    script = home.transcript(user(odd), assistant("Hi"), user(new("Sender", id="42") + "Bye"))
    home.index({GROUP: {"sessionId": script.session}})
    result = run(home)
    assert (result["rejected"], result["agents"]["main"]["unknown_envelopes"]) == (0, 1)
    row = RejectedRecord.objects.using(MAIN).get()
    assert (row.reason, row.session_id) == ("unknown_envelope", script.session)
    assert ConversationTurn.objects.using(MAIN).get(turn_number=1).user_message_content == odd
    assert '"envelope":"unknown"' in ConversationTurn.objects.using(MAIN).get(turn_number=1).user_metadata
    summary = AgentSummary.objects.get()
    assert (summary.rejected_count, summary.unknown_envelope_count) == (0, 1)
    assert "?agent=main" in as_admin.get("/operations/rejected/").text
    page = as_admin.get("/operations/rejected/", {"agent": "main", "reason": "unknown_envelope"}).text
    assert "lines that OpenClaw added around the message were not recognized" in page
    assert "Ada: Hello" in page
    again = run(home)
    assert again["agents"]["main"]["unknown_envelopes"] == 0
    assert RejectedRecord.objects.using(MAIN).count() == 1


def test_while_somebody_is_opted_out_it_is_listed_without_its_words(home):
    configuration.put(OPTED_OUT, ["bob"])
    script = home.transcript(user("[Carrier Lab id:-100 2026-01-30 11:10 GMT+8] Ada: Hello"))
    home.index({GROUP: {"sessionId": script.session}})
    assert run(home)["agents"]["main"]["withheld"] == {"unknown_sender": 1}
    assert RejectedRecord.objects.using(MAIN).get().raw_preview == ""


def test_the_report_of_a_collect_is_on_its_page(as_admin, home):
    home.transcript(user("[Carrier Ada id:42 2026-01-30 11:10 GMT+8] Hello"))
    job = JobFactory(kind="collect", state="finished", result_json=orjson.dumps(run(home)).decode())
    assert "1 record with an unknown envelope" in as_admin.get(job.get_absolute_url()).text


# Homes that the real program wrote


def collect_real_home(name):
    return collect.run({"source": str(HOMES / name), "include_deleted": True}, Progress())


@needs_homes
@pytest.mark.parametrize("name", [FILES, MIGRATED])
def test_a_real_home_withholds_the_same_records_in_either_spelling(real_files, tmp_path, name):
    configuration.put(OPTED_OUT, ["bob!bob@host.fake", "bob"])
    result = collect_real_home(name)
    assert result["agents"]["main"]["withheld"] == {"answer": 3, "sender": 1}
    assert result["agents"]["research"]["withheld"] == {}
    for agent in Agent.objects.all():
        connections[agent.db].cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for file in (file for file in databases.get_path("main").parents[3].rglob("*") if file.is_file()):
        assert b"what is 2+2" not in file.read_bytes(), file
        # The other agent wrote the address into its MEMORY.md by itself: versions of files are no messages.
        assert b"bob.fake@example" not in file.read_bytes() or "research" in str(file), file


@needs_homes
@pytest.mark.parametrize("name", [FILES, MIGRATED])
def test_turns_titles_and_rows_of_a_real_home_are_free_of_envelopes(real_files, settings, name):
    result = collect_real_home(name)
    assert [agent["unknown_envelopes"] for agent in result["agents"].values()] == [0, 0]
    senders, count = set(), 0
    for agent in Agent.objects.all():
        turns = ConversationTurn.objects.using(agent.db)
        for text in turns.values_list("user_message_content", flat=True):
            assert not has_envelope(text)
        assert not any(map(has_envelope, Session.objects.using(agent.db).values_list("title", flat=True)))
        senders |= {*turns.exclude(user_from=None).values_list("user_from", flat=True)}
        for session in Session.objects.using(agent.db):
            count += len(make_samples(agent, session.id, None, by="root").made)
    assert senders == {"bob!bob@host.fake", "carol!carol@host.fake"}
    for form in ("alpaca", "sharegpt"):
        out = io.StringIO()
        call_command("export", "--format", form, "--name", form, "--all", "--json", "--quiet", stdout=out)
        files = list(Path(json.loads(out.getvalue())["folder"]).glob("*.jsonl"))
        rows = "".join(file.read_text() for file in files)
        assert count and rows and not has_envelope(rows)


def has_envelope(text):
    return "Conversation info" in text or "openclaw:ctx" in text or "untrusted metadata" in text
