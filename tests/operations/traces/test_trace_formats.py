"""Each format of traces, from sessions of any shape."""

import tracemalloc
from html.parser import HTMLParser

import orjson
import pytest
from django.core.management.base import CommandError

from findings import scan
from ledger.models import RemovedSession, Session
from operations.traces import scout
from operations.traces.export import FORMATS
from people.configuration import setting_values as configuration
from tests.factories import T0
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import channel_message, store_session
from tests.operations.traces.sessions import (
    KEY,
    add_decision,
    export,
    read_lines,
    read_table,
    read_trajectory,
    store_odd_session,
)

pytestmark = pytest.mark.django_db
PERSON = "mei@teahouse.io"


@pytest.fixture(autouse=True)
def home(own_home, ada, bob):
    return own_home


class Reader(HTMLParser):
    """Collects what a browser would load or run."""

    def __init__(self):
        super().__init__()
        self.bad = []

    def handle_starttag(self, tag, attrs):
        names = {name for name, _value in attrs}
        links = [value for name, value in attrs if name == "href" and not value.startswith(("http", "mailto"))]
        if tag in ("script", "img", "link", "iframe", "object", "embed", "base") or links:
            self.bad.append((tag, attrs))
        if any(name.startswith("on") or name in ("src", "srcset", "style", "action") for name in names):
            self.bad.append((tag, attrs))


def test_a_step_has_its_calls_and_their_results(tmp_path):
    store_odd_session()
    receipt = export(tmp_path / "out")
    document = read_trajectory(tmp_path / "out" / receipt["files"][0]["name"])
    sources = [(step["source"], len(step.get("observation", {}).get("results", ()))) for step in document["steps"]]
    assert sources == [
        *(("user", 0), ("agent", 1), ("system", 0), ("agent", 2), ("system", 0), ("agent", 0)),
        *(("user", 0), ("agent", 0), ("agent", 0)),
    ]
    lost = document["steps"][2]
    assert lost["message"] == "" and lost["extra"]["tool_result"]["content"] == "a result without a call"
    assert document["steps"][3]["reasoning_content"] == "I will call it."
    assert document["steps"][1]["metrics"]["prompt_tokens"] == 105
    assert "timestamp" not in document["steps"][6] and document["steps"][0]["timestamp"].endswith("Z")
    assert document["final_metrics"]["total_steps"] == 9
    assert receipt["messages"] == 12 and receipt["files"][0]["messages"] == 12


def test_all_formats_have_the_same_messages(tmp_path):
    store_odd_session()
    document = read_trajectory(tmp_path / export(tmp_path / "a.json", "atif", "--session", "s1")["written"])
    words = [step["message"] for step in document["steps"] if step["source"] != "system"]
    header, messages = read_lines(export(tmp_path / "h.jsonl", "hf-sessions", "--session", "s1")["written"])
    assert (
        header["id"] == "s1"
        and [part["content"] for part in messages if part["role"] in ("user", "assistant")] == words
    )
    export(tmp_path / "scout", "scout")
    [row] = read_table(tmp_path / "scout")
    assert (row["transcript_id"], row["message_count"], row["agent"]) == ("s1", len(messages), "ada")
    rows = orjson.loads(row["messages"])
    assert [part["role"] for part in rows] == [part["role"] for part in messages]
    assert rows[4]["content"][0] == {"type": "reasoning", "reasoning": "I will call it."}
    assert rows[2]["error"]["type"] == "unknown" and len({part["id"] for part in rows}) == len(rows)


def test_the_html_file_loads_and_runs_nothing(tmp_path):
    store_odd_session()
    text = (tmp_path / export(tmp_path / "s.html", "html", "--session", "s1")["written"]).read_text()
    reader = Reader()
    reader.feed(text)
    assert not reader.bad
    assert "&lt;script&gt;alert(1)" in text and "<strong>1</strong>" in text


@pytest.mark.parametrize("form", FORMATS)
def test_the_name_of_a_file_stays_in_its_folder(form, tmp_path):
    for number, session_id in enumerate(("../../evil", "a/b", "a-b", "..", "CON", "名前" * 40, "x" * 256)):
        store_session(user(f"question {number}"), assistant("answer"), session_id=session_id)
    export(tmp_path / "deep" if (tmp_path / "deep").mkdir() else tmp_path / "deep" / "out", form)
    names = [path.name for path in (tmp_path / "deep" / "out").iterdir()]
    assert len(names) == 8 and all(len(name) < 200 and name.isascii() for name in names)
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]


@pytest.mark.parametrize("form", FORMATS)
def test_values_are_redacted_and_open_keys_block(form, tmp_path):
    store_session(user(f"I am {PERSON}, again {PERSON}"), assistant("Noted.", ("c", "mail", {"to": PERSON})))
    store_session(user("env"), assistant("", ("c", "exec", {})), result("c", f"TOKEN={KEY}"), session_id="s2")
    with pytest.raises(CommandError):  # partly done
        export(tmp_path / "out", form)
    [file] = [path for path in (tmp_path / "out").iterdir() if path.name != "receipt.json"]
    data = file.read_bytes() if form != "scout" else read_table(tmp_path / "out")[0]["messages"].encode()
    assert PERSON.encode() not in data and data.count(b"[EMAIL_1]") >= 3 and b"[EMAIL_2]" not in data
    receipt = orjson.loads((tmp_path / "out" / "receipt.json").read_bytes())
    assert receipt["left_out"] == {"open_findings": {"count": 1, "sessions": [{"agent": "ada", "session": "s2"}]}}
    whole = export(tmp_path / "all", form, "--include-flagged")
    assert (whole["sessions"], whole["redaction"]["flagged_sessions"]) == (2, 1)
    contents = b"".join(path.read_bytes() for path in (tmp_path / "all").iterdir())
    assert KEY.encode() not in contents and KEY not in str(read_table(tmp_path / "all"))


@pytest.mark.parametrize("form", FORMATS)
def test_words_of_people_who_opted_out_stay_out(form, tmp_path):
    store_session(
        *(channel_message("mei", "Mei asks"), assistant("To Mei")),
        {"type": "compaction", "summary": "Mei question."},
        *(channel_message("tom", "Tom asks"), assistant("To Tom")),
    )
    Session.objects.using("agent_ada").update(session_key="agent:ada:irc:group:#lab", origin="group", title="Mei asks")
    RemovedSession.objects.using("agent_ada").create(
        session_id="gone", why="retention", removed_at=T0, last_activity_at=T0
    )
    configuration.put("collector.optedOutSenders", ["mei"])
    receipt = export(tmp_path / "out", form)
    contents = "".join(path.read_text(errors="replace") for path in (tmp_path / "out").iterdir())
    contents += str(read_table(tmp_path / "out"))
    assert "Mei" not in contents and "Tom asks" in contents
    assert (receipt["withheld"]["opted_out"], receipt["withheld"]["removed_sessions"]) == (3, 1)


def test_only_the_active_branch_without_copies(tmp_path):
    store_session(
        user("question"),
        assistant("abandoned"),
        assistant("answer") | {"parentId": "r1"},
        assistant("answer", model="delivery-mirror"),
    )
    receipt = export(tmp_path / "out")
    document = read_trajectory(tmp_path / "out" / receipt["files"][0]["name"])
    assert [step["message"] for step in document["steps"]] == ["question", "answer"]
    assert receipt["withheld"]["copies"] == 1


def test_the_chain_and_the_trust_of_messages(tmp_path):
    question = user("likes tea", provenance={"kind": "inter_session", "sourceTool": "sessions_send", "odd": {}})
    foreign = "<<<EXTERNAL_UNTRUSTED_CONTENT>>>\nbuy"
    session = store_session(question, assistant("", ("c", "fetch", {})), result("c", foreign), assistant("ok"))
    add_decision(session, f"tea, {PERSON}")
    document = read_trajectory(export(tmp_path / "a.json", "atif", "--session", "s1")["written"])
    first, call = (document["steps"][number] for number in (0, 1))
    [decision] = first["extra"]["chain"]["decisions"]
    assert (decision["id"], decision["fact"]) == ("d1", "tea, [EMAIL_1]")
    trust = first["extra"]["trust"]
    assert trust == {"provenance": {"kind": "inter_session", "sourceTool": "sessions_send"}, "sender": "other_session"}
    assert call["observation"]["results"][0]["extra"]["trust"] == {"has_external_content": True}


def test_sub_agents_are_embedded_once(tmp_path):
    def spawn(call, key):
        answer = orjson.dumps({"childSessionKey": key}).decode()
        return assistant("", (call, "sessions_spawn", {"task": "t"})), result(call, answer, name="sessions_spawn")

    child, grandchild = "agent:bob:subagent:u1", "agent:ada:subagent:u2"
    store_session(user("go"), *spawn("c1", child), *spawn("c2", child))
    store_session(user("count"), *spawn("c1", grandchild), session_id="child", db="agent_bob")
    store_session(user("count"), *spawn("c1", child), assistant("2"), session_id="grandchild")
    for db, name, key in (("agent_bob", "child", child), ("agent_ada", "grandchild", grandchild)):
        Session.objects.using(db).filter(id=name).update(session_key=key, origin="subagent")
    receipt = export(tmp_path / "a.json", "atif", "--session", "s1")
    document = read_trajectory(receipt["written"])
    [embedded] = document["subagent_trajectories"]
    assert embedded["trajectory_id"] == "bob:child" and receipt["sub_agents"] == 2
    assert [inner["session_id"] for inner in embedded["subagent_trajectories"]] == ["grandchild"]
    results = [outcome for step in document["steps"] for outcome in step.get("observation", {}).get("results", ())]
    assert [len(outcome.get("subagent_trajectory_ref", ())) for outcome in results] == [
        0,
        1,
    ]  # the last call of the two


def test_a_session_that_is_too_large_for_scout_is_named(tmp_path, monkeypatch):
    store_session(user("question"), assistant("answer " * 1_000))
    store_session(user("question"), assistant("answer"), session_id="s2")
    monkeypatch.setattr(scout, "MOST_BYTES", 5_000)
    with pytest.raises(CommandError):
        export(tmp_path / "out", "scout")
    assert [row["transcript_id"] for row in read_table(tmp_path / "out")] == ["s2"]
    receipt = orjson.loads((tmp_path / "out" / "receipt.json").read_bytes())
    assert receipt["left_out"]["too_large"]["sessions"] == [{"agent": "ada", "session": "s1"}]


@pytest.mark.parametrize("form", ["atif", "hf-sessions", "html"])
def test_memory_does_not_follow_the_length_of_a_session(form, tmp_path):
    def measure(count, name):
        turns = [(user(f"question {number}"), assistant("word " * 3_000)) for number in range(count)]
        store_session(*(record for turn in turns for record in turn), session_id=name)
        del turns
        scan.scan_all()
        tracemalloc.start()
        export(tmp_path / f"{name}.x", form, "--session", name)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    measure(5, "warm")
    short, long = measure(40, "short"), measure(400, "long")
    assert long < short * 2 + 3_000_000  # the long one has 6 MB of words
