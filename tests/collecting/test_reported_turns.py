"""Sessions, turns and contexts of the Reflection plugin: its database and its API, joined with transcripts."""

import hashlib
import json
import sqlite3
from contextlib import closing
from types import SimpleNamespace

import pytest
from django.db import connections
from django.test import Client

from agents import databases
from datasets.kinds import verdict_service
from datasets.kinds.write import WRITE
from datasets.models import DatasetSample
from datasets.review import verdicts
from gate.models import MemoryGateDecision
from guardian.models import WriteGuardianAudit
from ledger.models import ConversationContext, ConversationTurn, RejectedRecord, Session
from ledger.transcripts import reported_turns
from openclaw_web.disk import locks
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, run
from tests.collecting.plugin_log import CHANNEL, GROUP, T0
from tests.datasets.exports.export_helpers import build_export, read_rows
from tests.homes import Home, assistant, user

pytestmark = pytest.mark.django_db
OWN = reported_turns.build_session_id(CHANNEL)
TALK = "00000000-0000-4000-8000-000000000001"
# The tables of the specification, as far as SQLite takes them.
SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, channel_id TEXT NOT NULL, conversation_target TEXT, account_id TEXT,
    created_at INTEGER NOT NULL, last_activity_at INTEGER NOT NULL, metadata TEXT);
CREATE TABLE conversation_turns (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, turn_number INTEGER NOT NULL,
    user_message_id TEXT, user_message_content TEXT NOT NULL, user_from TEXT, user_metadata TEXT,
    agent_message_id TEXT, agent_message_content TEXT NOT NULL, agent_metadata TEXT, created_at INTEGER NOT NULL);
CREATE TABLE conversation_contexts (id INTEGER PRIMARY KEY, turn_id TEXT NOT NULL, role TEXT NOT NULL,
    message TEXT NOT NULL, timestamp INTEGER NOT NULL, sequence_number INTEGER NOT NULL);
CREATE TABLE memory_gate_decisions (id TEXT PRIMARY KEY, turn_id TEXT NOT NULL, session_id TEXT NOT NULL,
    decision TEXT NOT NULL, reason TEXT NOT NULL, candidate_fact TEXT, llm_model TEXT NOT NULL,
    llm_latency_ms INTEGER, prompt_tokens INTEGER, completion_tokens INTEGER, raw_response TEXT,
    created_at INTEGER NOT NULL);
CREATE TABLE file_snapshots (id TEXT PRIMARY KEY, file_name TEXT, content TEXT, content_hash TEXT, created_at INTEGER);
CREATE TABLE write_guardian_audit (id TEXT PRIMARY KEY, decision_id TEXT NOT NULL, turn_id TEXT NOT NULL,
    session_id TEXT NOT NULL, target_file TEXT NOT NULL, candidate_fact TEXT NOT NULL, before_snapshot_id TEXT,
    after_snapshot_id TEXT, status TEXT NOT NULL, reason TEXT, created_at INTEGER NOT NULL);
"""
SESSION = {"id": CHANNEL, "channel_id": "irc", "created_at": T0 - 9_000, "last_activity_at": T0 + 70_000}


def make_turn(number=1, **more):
    """A turn of the plugin; the first is the one of `add_transcript`."""
    words = {1: ("I like green tea", "Noted, green tea.")}.get(number, (f"Question {number}", f"Answer {number}"))
    columns = {"id": f"01T{number}", "session_id": CHANNEL, "turn_number": number, "created_at": T0 + number * 60_000}
    texts = dict(zip(("user_message_content", "agent_message_content"), words, strict=True))
    return columns | texts | {"user_message_id": f"m{number}", "user_from": "irc:alice"} | more


def make_decision(number=1, **more):
    columns = {"id": f"01D{number}", "turn_id": f"01T{number}", "session_id": CHANNEL, "decision": "UPDATE_USER"}
    columns |= {"reason": "A preference.", "candidate_fact": "Likes green tea.", "llm_model": "gate-1"}
    return columns | {"created_at": T0 + number * 60_000 + 4_000} | more


class Database:
    """A `reflection.db` in the workspace of the agent main."""

    def __init__(self, home):
        self.path = home.root / "workspace" / ".openclaw-reflection" / "reflection.db"
        self.path.parent.mkdir(parents=True)
        self._run(lambda db: db.executescript(SCHEMA))

    def _run(self, work):
        with closing(sqlite3.connect(self.path)) as db, db:
            work(db)

    def add(self, table, *rows):
        for row in rows:
            sql = f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
            self._run(lambda db, sql=sql, row=row: db.execute(sql, [*row.values()]))
        return self

    def change(self, sql):
        self._run(lambda db: db.execute(sql))

    def add_write(self, number=1, before="# User\n", after="# User\n- Likes green tea.\n"):
        for name, text in (("before", before), ("after", after)):
            digest = hashlib.sha256(text.encode()).hexdigest()
            columns = {"id": f"{name}{number}", "file_name": "USER.md", "content": text, "content_hash": digest}
            self.add("file_snapshots", columns | {"created_at": T0})
        columns = {"id": f"01W{number}", "decision_id": f"01D{number}", "turn_id": f"01T{number}", "status": "written"}
        columns |= {"session_id": CHANNEL, "target_file": "USER.md", "candidate_fact": "Likes green tea."}
        columns |= {"before_snapshot_id": f"before{number}", "after_snapshot_id": f"after{number}"}
        return self.add("write_guardian_audit", columns | {"created_at": T0 + number * 60_000 + 5_000})


@pytest.fixture
def home(tmp_path, real_files):
    return Home(tmp_path / "openclaw")


@pytest.fixture
def database(home):
    metadata = json.dumps({"sessionKey": GROUP})
    return Database(home).add("sessions", SESSION | {"metadata": metadata}).add("conversation_turns", make_turn())


def add_transcript(home, *, reply="Noted, green tea.", **more):
    """The transcript of the plugin's first turn, in the session that the key means."""
    home.index({GROUP: {"sessionId": TALK, "updatedAt": T0}})
    stamp = {"timestamp": T0 + 57_000}
    return home.transcript(user("I like green tea", **more) | stamp, assistant(reply) | stamp, session=TALK)


def read_turns():
    rows = ConversationTurn.objects.using(MAIN).order_by("id")
    return {
        row.id: (row.turn_number, row.user_message_content, row.agent_message_content, row.repeat_of) for row in rows
    }


def read_places():
    """The turns of decisions and writes."""
    rows = [
        *MemoryGateDecision.objects.using(MAIN).order_by("id"),
        *WriteGuardianAudit.objects.using(MAIN).order_by("id"),
    ]
    return {row.id: (row.session_id, row.turn_id, row.match) for row in rows}


class TestDatabase:
    def test_its_sessions_turns_and_contexts_are_rows(self, home, database, as_operator):
        message = {
            "turn_id": "01T2",
            "role": "user",
            "message": "I like green tea",
            "timestamp": T0,
            "sequence_number": 0,
        }
        database.add("conversation_turns", make_turn(2)).add("conversation_contexts", message)
        assert run(home)["gate"]["turns"] == 2
        session = Session.objects.using(MAIN).get()
        assert (session.id, session.session_key, session.channel_id, session.turn_count) == (OWN, CHANNEL, "irc", 2)
        assert session.index_entry == {"reported": {"sessionKey": GROUP}}
        assert read_turns() == {
            f"{OWN}:01T1": (1, "I like green tea", "Noted, green tea.", None),
            f"{OWN}:01T2": (2, "Question 2", "Answer 2", None),
        }
        turn = as_operator.get("/api/v1/agents/main/turns").json()["items"][0]
        assert (turn["id"], turn["user_from"], turn["latency_ms"]) == (f"{OWN}:01T2", "irc:alice", None)
        context = as_operator.get("/api/v1/agents/main/turns/context", {"turn_id": turn["id"]}).json()
        assert context["is_kept"] and [item["message"] for item in context["items"]] == ["I like green tea"]
        assert "Question 2" in as_operator.get(f"/agents/main/sessions/{OWN}/").text

    def test_reading_it_again_changes_nothing_and_new_turns_are_added(self, home, database):
        run(home)
        database.add("conversation_turns", make_turn(3), make_turn(2))
        assert run(home)["gate"]["turns"] == 2
        turns = read_turns()
        assert sorted(turn[0] for turn in turns.values()) == [1, 2, 3]
        again = run(home, again=True)["again"]["main"]
        assert (again["rebuilt"], again["without_source"], read_turns()) == (0, [], turns)

    def test_other_words_under_a_known_id_are_rejected(self, home, database):
        run(home)
        database.add("conversation_turns", make_turn(agent_message_content="Something else."), make_turn(2))
        counts = run(home)["gate"]
        assert (counts["turns"], counts["rejected"]) == (1, 1)
        assert RejectedRecord.objects.using(MAIN).get().detail == "01T1: it was reported before with other words"
        assert read_turns()[f"{OWN}:01T1"][2] == "Noted, green tea."

    def test_what_cannot_be_is_rejected_and_the_rest_is_kept(self, home, database):
        bad = [make_turn(4, turn_number=-1), make_turn(5, id="a/b")]
        database.add("conversation_turns", *bad, make_turn(7, session_id="agent:other:irc:group:#lab"))
        home.write("openclaw.json", {"agents": {"list": [{"id": "main"}, {"id": "other", "workspace": "/nowhere"}]}})
        (home.root / "agents" / "other" / "sessions").mkdir(parents=True)
        assert run(home)["gate"]["turns"] == 1
        details = [row.detail for row in RejectedRecord.objects.using(MAIN)]
        assert len(details) == 3 and any("the agent other, which has another workspace" in each for each in details)

    def test_people_who_opted_out_are_left_out_until_they_come_back(self, home, database):
        database.add("conversation_turns", make_turn(2, user_from="irc:bob"))
        configuration.put("collector.optedOutSenders", ["irc:alice"])
        counts = run(home)["gate"]
        assert (counts["turns"], counts["withheld"], [*read_turns()]) == (1, 1, [f"{OWN}:01T2"])
        configuration.put("collector.optedOutSenders", [])
        run(home)
        assert len(read_turns()) == 2
        configuration.put("collector.optedOutSenders", ["irc:alice"])
        assert run(home, again=True)["again"]["main"]["withheld"] == {OWN: 2}
        assert not any("green tea" in text for turn in read_turns().values() for text in turn[1:3])

    @pytest.mark.parametrize("word", [b"\xff\xfe", "CAST(x'ff41' AS TEXT)"], ids=["bytes", "no-utf-8"])
    @pytest.mark.parametrize("column", ["id", "session_id"])
    def test_odd_bytes_stop_no_import(self, home, database, column, word):
        database.add("conversation_turns", make_turn(2))
        value = word if isinstance(word, str) else f"x'{word.hex()}'"
        database.change(f"UPDATE conversation_turns SET {column} = {value} WHERE id = '01T2'")
        counts = run(home)["gate"]
        assert (counts["turns"], counts["rejected"]) == (1, 1)

    def test_turns_of_an_agent_whose_file_is_lost_wait_for_it(self, home, database):
        folder = str(home.root / "workspace")
        agents = [{"id": name, "workspace": folder} for name in ("main", "zeta")]
        home.write("openclaw.json", {"agents": {"list": agents}})
        (home.root / "agents" / "zeta" / "sessions").mkdir(parents=True)
        home.transcript(user("Hello"), assistant("Hi."), agent="zeta")
        run(home)
        connections["agent_zeta"].close()
        for file in databases.get_path("zeta").parent.iterdir():
            file.unlink()
        key = "agent:Zeta:irc:group:#lab"
        database.add("conversation_turns", make_turn(2, session_id=key), make_turn(3, session_id="agent:nobody:x:y"))
        counts = run(home)["gate"]
        assert (counts["turns"], counts["rejected"], [*read_turns()]) == (0, 1, [f"{OWN}:01T1"])

    def test_a_file_with_the_name_of_a_session_of_the_plugin_is_not_it(self, home, database):
        home.transcript(user("mine"), assistant("yours"), session=OWN)
        run(home)
        turns = read_turns()
        assert len(turns) == 2 and turns[f"{OWN}:01T1"][1] == "I like green tea"


class TestConsent:
    """Bob has an id on the channel, and opted out by his name."""

    BOB = {"senderId": "12345", "senderName": "Bob"}

    @pytest.fixture
    def with_bob(self, home):
        stamp = {"timestamp": T0 + 57_000}
        question = user("I like green tea") | stamp
        question["message"]["__openclaw"] = self.BOB
        home.index({GROUP: {"sessionId": TALK, "updatedAt": T0}})
        home.transcript(question, assistant("Noted, green tea.") | stamp, session=TALK)

    def is_told(self):
        return any("green tea" in text for turn in read_turns().values() for text in turn[1:3])

    @pytest.mark.parametrize("way", ["api", "database"])
    def test_what_a_transcript_withholds_the_plugin_cannot_tell(self, home, with_bob, as_operator, way):
        configuration.put("collector.optedOutSenders", ["Bob"])
        run(home)
        turns = [make_turn(user_from="12345"), make_turn(2, created_at=T0 + 9_000_000)]
        if way == "api":
            answer = as_operator.post("/api/v1/agents/main/turns", {"turns": turns}, "application/json").json()
            assert answer == {"recorded": ["01T2"], "known": [], "withheld": 1}
            decisions = {"decisions": [make_decision()]}
            answer = as_operator.post("/api/v1/agents/main/gate/decisions", decisions, "application/json").json()
            assert (answer["recorded"], answer["withheld"]) == ([], 1)
        else:
            Database(home).add("conversation_turns", *turns)
            counts = run(home)["gate"]
            assert (counts["turns"], counts["withheld"]) == (1, 1)
        assert not self.is_told() and f"{OWN}:01T2" in read_turns()

    def test_opting_out_later_withholds_both(self, home, with_bob, as_operator):
        run(home)
        turns = {"turns": [make_turn(user_from="12345"), make_turn(2, created_at=T0 + 9_000_000)]}
        as_operator.post("/api/v1/agents/main/turns", turns, "application/json")
        assert read_turns()[f"{OWN}:01T1"][3] == TALK
        configuration.put("collector.optedOutSenders", ["Bob"])
        run(home)
        withheld = run(home, again=True)["again"]["main"]["withheld"]
        assert withheld == {TALK: 2, OWN: 2} and not self.is_told()
        assert read_turns()[f"{OWN}:01T2"][1] == "Question 2"
        assert run(home, again=True)["again"]["main"]["rebuilt"] == 0

    def test_a_transcript_that_comes_later_withholds_both(self, home, request, as_operator):
        home.transcript(user("Hello"))
        run(home)
        configuration.put("collector.optedOutSenders", ["Bob"])
        as_operator.post("/api/v1/agents/main/turns", {"turns": [make_turn(user_from="12345")]}, "application/json")
        run(home)
        assert self.is_told()
        request.getfixturevalue("with_bob")
        run(home)
        assert not self.is_told()

    def test_a_direct_conversation_that_only_the_index_names(self, home, as_operator):
        key = "agent:main:irc:direct:77"
        home.index({key: {"sessionId": TALK, "updatedAt": T0, "origin": {"label": "Bob", "from": "irc:77"}}})
        home.transcript(user("Hello"), session=TALK)
        run(home)
        configuration.put("collector.optedOutSenders", ["Bob"])
        run(home, again=True)
        turns = {"turns": [make_turn(session_id=key, user_from=None)]}
        as_operator.post("/api/v1/agents/main/turns", turns, "application/json")
        assert self.is_told()
        run(home)
        assert not self.is_told() and read_turns() == {}

    @pytest.mark.parametrize("name", ["senderName", "senderUsername", "senderId", "sender", "from"])
    def test_names_in_metadata_count(self, home, as_operator, name):
        home.transcript(user("Hello"))
        run(home)
        configuration.put("collector.optedOutSenders", ["Bob"])
        turns = {"turns": [make_turn(user_from="12345", user_metadata={name: "Bob"})]}
        answer = as_operator.post("/api/v1/agents/main/turns", turns, "application/json").json()
        assert (answer["recorded"], answer["withheld"]) == ([], 1)

    def test_the_origin_of_a_direct_session_counts(self, home, as_operator):
        home.transcript(user("Hello"))
        run(home)
        configuration.put("collector.optedOutSenders", ["Bob"])
        key = "agent:main:irc:direct:77"
        session = SESSION | {"id": key, "metadata": {"origin": {"label": "Bob"}}}
        as_operator.post("/api/v1/agents/main/sessions", {"sessions": [session]}, "application/json")
        turns = {"turns": [make_turn(session_id=key, user_from=None)]}
        answer = as_operator.post("/api/v1/agents/main/turns", turns, "application/json").json()
        assert (answer["recorded"], answer["withheld"]) == ([], 1)


class TestJoining:
    PLACE = (TALK, f"{TALK}:r1", "given")

    @pytest.fixture
    def full(self, database):
        return database.add("memory_gate_decisions", make_decision()).add_write()

    @pytest.mark.parametrize("is_later", [False, True], ids=["transcript-first", "transcript-later"])
    def test_the_transcript_has_the_turn_in_any_order(self, home, full, is_later):
        if is_later:
            run(home)
            assert read_places()["01D1"] == (OWN, f"{OWN}:01T1", "given")
        add_transcript(home)
        run(home)
        assert read_places() == {"01D1": self.PLACE, "01W1": self.PLACE}
        assert read_turns()[f"{OWN}:01T1"][3] == TALK
        assert {row.id: row.turn_count for row in Session.objects.using(MAIN)} == {OWN: 0, TALK: 1}
        run(home, again=True)
        assert read_places() == {"01D1": self.PLACE, "01W1": self.PLACE}

    @pytest.mark.parametrize(
        ("turn", "reply", "is_joined"),
        [
            ({}, "Noted, black tea.", False),
            ({"created_at": T0 + 4_000_000}, "Noted, green tea.", False),
            ({"created_at": T0 + 1_200_000}, "Noted, green tea.", False),
            ({"created_at": T0 + 1_200_000, "user_message_id": "r1"}, "Noted, green tea.", True),
            ({"user_message_id": "r1", "user_message_content": "I like gre"}, "Noted, black tea.", True),
            ({"user_message_id": "r1", "user_message_content": "I love cats"}, "Noted, black tea.", False),
            ({"session_id": "channel:irc:group:#other"}, "Noted, green tea.", False),
            ({"user_message_id": "r1"}, "Noted, black tea.", True),
            ({"user_message_id": "k1"}, "Noted, black tea.", False),
            ({"agent_message_content": ""}, "Noted, green tea.", False),
        ],
    )
    def test_a_turn_is_joined_only_by_its_id_or_all_of_its_words(self, home, turn, reply, is_joined):
        Database(home).add("conversation_turns", make_turn(**turn))
        add_transcript(home, reply=reply)
        run(home)
        reported = next(value for name, value in read_turns().items() if not name.startswith(TALK))
        assert (reported[3] == TALK) == is_joined

    def test_a_turn_of_a_transcript_is_one_turn_of_the_plugin(self, home, as_operator):
        again = make_turn(2, **{key: value for key, value in make_turn().items() if key.endswith("content")})
        database = Database(home).add("conversation_turns", make_turn(), again)
        database.add("memory_gate_decisions", make_decision(), make_decision(2, candidate_fact="Likes it much."))
        add_transcript(home)
        run(home)
        turns = read_turns()
        assert [turns[f"{OWN}:01T{number}"][3] for number in (1, 2)] == [TALK, None]
        assert read_places() == {"01D1": self.PLACE, "01D2": (OWN, f"{OWN}:01T2", "given")}

    def test_judged_samples_follow_and_need_review_where_words_differ(self, home, database, as_reviewer):
        database.add("conversation_turns", make_turn(user_message_id="r1"))
        run(home)
        address = f"/api/v1/agents/main/sessions/{OWN}/samples"
        assert as_reviewer.post(address, {"turns": [1]}, "application/json").status_code == 200
        name = DatasetSample.objects.get().id
        verdicts.label_sample(name, "approved", by="ann")
        add_transcript(home, reply="Noted, black tea.")
        run(home)
        sample = DatasetSample.objects.get()
        assert (sample.turn_id, sample.session_id, sample.repeat_of) == (f"{TALK}:r1", TALK, None)
        assert (sample.body["agentReply"], sample.annotation_status) == ("Noted, green tea.", "needs_review")
        assert "changed_since" in sample.turn_traits

    def test_from_the_database_to_an_approved_sample_in_an_export(self, home, full, as_reviewer):
        run(home)
        assert read_places()["01W1"] == (OWN, f"{OWN}:01T1", "given")
        page = as_reviewer.get("/agents/main/write-verdicts/01W1/")
        assert 'value="right"' in page.text
        address = "/api/v1/agents/main/guardian/writes/01W1/sample"
        assert as_reviewer.post(address, {"verdict": "right"}, "application/json").status_code == 200
        row = read_rows(build_export("openai", "guardian"))[0]
        assert "Likes green tea." in row["messages"][1]["content"]
        assert row["messages"][-1]["content"].count("- Likes green tea.") == 1

    def test_a_write_whose_turn_is_nowhere_is_taught_too(self, home, database):
        database.add("memory_gate_decisions", make_decision(9)).add_write(9)
        run(home)
        assert read_places()["01W9"][1:] == (None, "none")
        agent = SimpleNamespace(db=MAIN, agent_id="main")
        verdict_service.give_verdict(WRITE, agent, "01W9", "right", by="ann")
        assert len(read_rows(build_export("openai", "guardian"))) == 1


class TestApi:
    """The same by the API, with the shapes of the specification's interfaces."""

    TURN = {
        "id": "01T1", "sessionId": CHANNEL, "turnNumber": 1, "createdAt": T0 + 60_000,
        "userMessage": {"id": "m1", "content": "I like green tea", "from": "irc:alice", "metadata": {"team": "lab"}},
        "agentReply": {"id": "m2", "content": "Noted, green tea."},
    }  # fmt: skip

    @pytest.fixture(autouse=True)
    def collected(self, home):
        home.transcript(user("Hello"), assistant("Hi."))
        run(home)

    def post(self, client, path, *rows):
        return client.post(f"/api/v1/agents/main/{path}", {path: list(rows)}, "application/json")

    def test_upserts_are_idempotent(self, as_operator):
        reported = {"id": CHANNEL, "channelId": "irc", "createdAt": T0, "lastActivityAt": T0}
        assert self.post(as_operator, "sessions", reported).json() == {
            "recorded": [CHANNEL],
            "known": [],
            "withheld": 0,
        }
        assert Session.objects.using(MAIN).get(id=OWN).turn_count == 0
        answer = self.post(as_operator, "turns", self.TURN)
        assert (answer.status_code, answer.json()) == (201, {"recorded": ["01T1"], "known": [], "withheld": 0})
        again = self.TURN | {"context": [{"role": "user", "message": "Earlier", "timestamp": T0}]}
        assert self.post(as_operator, "turns", again).json() == {"recorded": [], "known": ["01T1"], "withheld": 0}
        assert ConversationContext.objects.using(MAIN).get().message == "Earlier"
        self.post(as_operator, "sessions", reported | {"lastActivityAt": T0 + 900_000, "accountId": "second"})
        session = Session.objects.using(MAIN).get(id=OWN)
        assert (session.account_id, session.last_activity_at) == ("second", T0 + 900_000)
        assert (session.created_at, session.turn_count) == (T0 + 60_000, 1)

    def test_the_last_answer_may_follow(self, as_operator):
        self.post(as_operator, "turns", make_turn(agent_message_content=""))
        answers = [self.post(as_operator, "turns", make_turn()).json() for _ in range(2)]
        assert [(answer["recorded"], answer["known"]) for answer in answers] == [(["01T1"], []), ([], ["01T1"])]
        assert read_turns()[f"{OWN}:01T1"] == (1, "I like green tea", "Noted, green tea.", None)
        self.post(as_operator, "turns", make_turn(2, agent_message_content=""), make_turn(3))
        assert self.post(as_operator, "turns", make_turn(2)).status_code == 409  # turn 3 followed without it
        assert Session.objects.using(MAIN).get(id=OWN).turn_count == 3

    def test_one_id_in_two_sessions_is_two_turns(self, as_operator):
        answer = self.post(as_operator, "turns", make_turn(), make_turn(session_id="channel:irc:group:#b"))
        assert answer.json()["recorded"] == ["01T1", "01T1"] and len(read_turns()) == 3

    @pytest.mark.parametrize(
        "more",
        [
            {"id": "01T1:agent"},
            {"user_metadata": {"a": json.loads("[" * 300 + "]" * 300)}},
            {"agent_metadata": json.dumps({"a": json.loads("[" * 300 + "]" * 300)})},
            {"user_metadata": "[]"},
            {"user_metadata": ["a"]},
        ],
    )
    def test_what_cannot_be_stored_is_refused_whole(self, as_operator, more):
        answer = self.post(as_operator, "turns", make_turn(2), make_turn(**more))
        assert answer.status_code == 422 and len(read_turns()) == 1

    def test_other_words_are_refused_and_nothing_is_stored(self, as_operator):
        self.post(as_operator, "turns", self.TURN)
        answer = self.post(as_operator, "turns", make_turn(2), make_turn(agent_message_content="Something else."))
        assert answer.status_code == 409 and answer.json()["reasons"][0]["id"] == "01T1"
        assert f"{OWN}:01T2" not in read_turns()

    @pytest.mark.parametrize("path", ["sessions", "turns"])
    def test_a_session_of_another_agent_is_refused(self, as_operator, path):
        key = "agent:bob:irc:group:#lab"
        row = SESSION | {"id": key} if path == "sessions" else make_turn(session_id=key)
        answer = self.post(as_operator, path, row)
        assert answer.status_code == 409 and "is one of another agent" in answer.json()["detail"]
        assert Session.objects.using(MAIN).count() == 1
        own = row | {"id" if path == "sessions" else "session_id": "agent:Main:irc:group:#lab"}
        assert self.post(as_operator, path, own).status_code in (200, 201)

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ({"id": "a/b"}, "id"),
            ({"id": "@5"}, "id"),
            ({"turn_number": -1}, "turn_number"),
            ({"created_at": "now"}, "created_at"),
            ({"user_metadata": "[1]"}, "user_metadata"),
            ({"agent_message_content": "\0"}, "agent_message_content"),
            ({"colour": "red"}, "colour"),
        ],
    )
    def test_refusals_name_the_field(self, as_operator, wrong, field):
        answer = self.post(as_operator, "turns", make_turn(2), make_turn(**wrong))
        assert answer.status_code == 422 and field in answer.json()["detail"]
        assert len(read_turns()) == 1

    def test_a_later_turn_joins_its_decision_and_write(self, as_operator):
        decision = make_decision() | {"created_at": T0 + 900_000}
        answer = as_operator.post("/api/v1/agents/main/gate/decisions", {"decisions": [decision]}, "application/json")
        assert answer.status_code == 201
        write = {"id": "01W1", "turn_id": "01T1", "session_id": CHANNEL, "decision_id": "01D1", "status": "written"}
        write |= {"target_file": "USER.md", "candidate_fact": "Likes green tea.", "created_at": T0 + 901_000}
        answer = as_operator.post("/api/v1/agents/main/guardian/writes", {"writes": [write]}, "application/json")
        assert answer.status_code == 201
        assert [place[1:] for place in read_places().values()] == [(None, "none")] * 2
        self.post(as_operator, "turns", self.TURN)
        assert read_places() == dict.fromkeys(("01D1", "01W1"), (OWN, f"{OWN}:01T1", "given"))

    def test_a_later_database_joins_it_too(self, as_operator, home):
        decision = make_decision() | {"created_at": T0 + 900_000}
        as_operator.post("/api/v1/agents/main/gate/decisions", {"decisions": [decision]}, "application/json")
        Database(home).add("conversation_turns", make_turn())
        run(home)
        assert read_places() == {"01D1": (OWN, f"{OWN}:01T1", "given")}

    def test_people_who_opted_out_and_removed_sessions_are_counted(self, as_operator):
        configuration.put("collector.optedOutSenders", ["irc:alice"])
        assert self.post(as_operator, "turns", self.TURN).json()["withheld"] == 1
        assert len(read_turns()) == 1

    def test_an_import_goes_first(self, as_operator):
        with locks.lock(locks.COLLECTING):
            answer = self.post(as_operator, "turns", self.TURN)
        assert answer.status_code == 503 and "Send the request again" in answer.json()["detail"]
        assert self.post(as_operator, "turns", self.TURN).status_code == 201

    @pytest.mark.parametrize("path", ["sessions", "turns"])
    def test_only_operators_may(self, as_reviewer, path):
        assert self.post(as_reviewer, path, make_turn()).status_code == 403
        assert self.post(Client(), path, make_turn()).status_code == 401
