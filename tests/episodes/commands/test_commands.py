"""`openclaw-web episodes`: its receipts, its failures, and what it does better than the existing tool."""

import json
import shlex
import subprocess
import sys

import pytest

from agents import services as agents
from episodes.append import append as append_events
from episodes.events import build_event
from episodes.verbs import search
from openclaw_web import VERSION
from openclaw_web.clock import DAY_MS
from openclaw_web.commands import cli
from openclaw_web.pages import glyphs
from tests.episodes.commands.command_line import DAY, append, ask, at, fail, names, run
from tests.operations.backups import backup_homes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("real_files")]
MIXED = "今天我们买面包和牛奶吧"


def test_a_receipt_has_both_versions():
    receipt = append("e1")
    assert list(receipt)[:4] == ["kind", "ts", "version", "ok"]
    assert receipt["kind"] == "openclaw-mem.episodes.append.v0"
    assert receipt["version"] == {"openclaw_mem": "2.0.0", "schema": "v0", "openclaw_web": VERSION}


def test_plain_output_is_a_line_for_each_key_with_the_repr_of_python():
    append("e1", "it's\n面包", "--payload-json", '{"a": [1, null, true, 48.3]}', *at(0))
    status, out, err = run("query", "--scope", "alpha", "--include-payload")
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert [line.partition(": ")[0] for line in lines] == [
        *("kind", "ts", "version", "ok", "scope", "filters", "count", "items"),
    ]
    assert lines[2:7] == [
        f"version: {{'openclaw_mem': '2.0.0', 'schema': 'v0', 'openclaw_web': '{VERSION}'}}",
        "ok: True",
        "scope: alpha",
        "filters: {'session_id': None, 'from_ts_ms': None, 'to_ts_ms': None, 'types': [], 'limit': 50, "
        "'include_payload': True}",
        "count: 1",
    ]
    assert f"'ts_ms': {DAY}, 'scope': 'alpha', 'session_id': 's', 'agent_id': 'lyria', 'type': 'ops.decision'" in out
    assert "'summary': \"it's\\n面包\", 'refs': None, 'redacted': False" in out
    assert lines[-1].endswith("'payload': {'a': [1, None, True, 48.3]}}]")


@pytest.mark.parametrize("json_option", [(), ("--json",)])
def test_failures_are_json_with_a_hint_either_way(json_option):
    status, out, err = run("query", *json_option)
    assert (status, err) == (2, "")
    assert json.loads(out) == {
        "kind": "openclaw-mem.episodes.query.v0",
        "ok": False,
        "error": "scope is required (or pass --global)",
        "hint": "openclaw-web episodes VERB --help lists the options.",
    }


@pytest.mark.parametrize(
    "words", [("query",), ("replay", "s"), ("search", "x"), ("redact", "--event-id", "e1"), ("gc",)]
)
def test_every_verb_that_reads_or_changes_events_needs_a_scope(words):
    append("e1")
    assert fail(*words)[0] == 2
    assert fail(*words, "--scope", " ") == fail(*words)
    assert fail(*words, "--global", "--scope", "alpha")[0] == 2
    assert fail(*words, "--scope", "…")[1]["error"] == "invalid scope"
    assert run(*words, "--global")[0] == 0
    assert names(ask("query", "--scope", "alpha")) == ["e1"]
    assert not ask("query", "--scope", "alpha")["items"][0]["redacted"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("append", "--scope", "alpha"), "required"),
        (("append-session-store-receipt", "--event", "other"), "invalid choice"),
        (("redact", "--replacement", "other"), "invalid choice"),
        (("query", "--limit", "many"), "invalid int value"),
        (("query", "--bogus"), "--bogus"),
    ],
)
def test_wrong_words_are_explained_on_standard_error_alone(words, sentence):
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert sentence in err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (
            "--db x --json --harness-home y episodes query --global",
            "episodes --db x --json --harness-home y query --global",
        ),
        ("--db=x episodic gc", "episodes --db=x gc"),
        ("--json serve", "--json serve"),
        ("--db episodes", "--db episodes"),
        ("episodes --db x query", "episodes --db x query"),
        ("episodic query --global", "episodes query --global"),
    ],
)
def test_options_may_come_before_the_command_and_it_has_another_spelling(typed, meant):
    assert cli.adapt_words(typed.split()) == meant.split()


@pytest.mark.parametrize("words", [("--db", "x", "query", "--global"), ("query", "--global", "--db", "x")])
def test_a_database_of_the_existing_tool_is_ignored_with_a_line(words, tmp_path, monkeypatch):
    assert run(*words)[::2] == (0, "--db is ignored: the ledger is in the file of the agent.\n")
    status, _out, err = run("--harness-home", str(tmp_path / "home"), "query", "--global")
    assert (status, err.partition(" ")[0]) == (0, "--harness-home")
    monkeypatch.setenv("OPENCLAW_MEM_DB", str(tmp_path / "mem.sqlite"))
    status, _out, err = run("query", "--global")
    assert (status, err.partition(" ")[0]) == (0, "OPENCLAW_MEM_DB")
    assert not list(tmp_path.rglob("mem.sqlite"))


def test_appending_again_is_a_no_op_and_other_content_is_refused():
    first = append("e1", "done", *at(0))
    assert "known" not in first
    assert append("e1", "done", *at(0)) | {"ts": ""} == first | {"ts": "", "known": True}
    assert append("e1")["event"]["ts_ms"] == DAY  # as it is stored, not now
    status, receipt = fail(
        *("append", "--event-id", "e1", "--scope", "alpha", "--session-id", "s", "--agent-id", "lyria"),
        *("--type", "ops.decision", "--summary", "something else"),
    )
    assert (status, receipt["error"]) == (1, "event_id already exists")
    assert list(receipt) == ["kind", "ok", "error", "detail", "hint"]
    assert ask("query", "--scope", "alpha")["count"] == 1


def test_an_event_that_was_redacted_is_known_without_its_texts():
    append("e1", "keep flour", "--payload-json", '"flour"')
    ask("redact", "--event-id", "e1", "--scope", "alpha")
    event = append("e1", "keep flour", "--payload-json", '"flour"')["event"]
    assert (event["summary"], event["redacted"], event["payload_present"]) == ("[REDACTED]", True, False)


def test_payloads_from_files_and_their_limits(tmp_path):
    file = tmp_path / "payload.json"
    file.write_text('{"b": 1, "a": "面"}')
    receipt = append("e1", "done", "--payload-file", str(file), "--refs-json", "[1]", "--payload-cap-bytes", "99999")
    assert (receipt["event"]["payload_bytes"], receipt["event"]["refs_bytes"]) == (17, 3)
    assert receipt["caps"] == {"payload_cap_bytes": 8192, "refs_cap_bytes": 4096}
    assert ask("query", "--scope", "alpha", "--include-payload")["items"][0]["payload"] == {"a": "面", "b": 1}


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--payload-json", "{}", "--payload-file", "x"), "provide only one of --payload-json or --payload-file"),
        (("--refs-file", "/nowhere"), "refs file not found: /nowhere"),
        (("--payload-json", "{"), "invalid payload JSON"),
        (("--payload-json", "NaN"), "invalid payload JSON"),
        (("--payload-json", "1e999"), "invalid payload JSON"),
        (("--payload-json", '"\\ud800"'), "invalid payload JSON"),
        (("--payload-json", "123456789012345678901"), "invalid payload JSON"),
        (("--payload-json", "[" * 100_000), "invalid payload JSON"),
        (("--payload-json", '"12345"', "--payload-cap-bytes", "6"), "payload exceeds cap (7 > 6 bytes)"),
        (("--payload-cap-bytes", "0"), "payload/refs caps must be > 0"),
        (("--refs-json", f'"{"x" * 5000}"', "--refs-cap-bytes", "9000"), "refs exceeds cap (5002 > 4096 bytes)"),
        (("--ts-ms", "0"), "ts_ms must be > 0"),
        (("--event-id", "two words"), "event_id must have 1 to 128 printable characters without blanks"),
        (("--type", "bogus"), "invalid type: bogus; allowed: conversation.assistant, conversation.user, ops.alert, "
         "ops.decision, ops.observation, tool.call, tool.result"),
        (("--type", "tool.call", "--payload-json", "[1]"), "tool.call events with a payload need --allow-tool-output"),
        (("--summary", "password: hunter2"), "summary appears to contain secret-like content; pass "
         "--allow-tool-output to override"),
    ],
)  # fmt: skip
def test_an_event_that_breaks_a_rule_is_not_stored(words, error):
    base = (
        "append",
        "--scope",
        "alpha",
        "--session-id",
        "s",
        "--agent-id",
        "a",
        "--type",
        "ops.alert",
        "--summary",
        "x",
    )
    status, receipt = fail(*base, *words)
    assert (status, receipt["error"]) == (2, error)
    assert ask("query", "--scope", "alpha")["count"] == 0


def test_the_receipt_of_the_session_store_has_the_id_of_its_content():
    words = ("append-session-store-receipt", "--ts-ms", "5", "--store-path", "/x/y.json", "--size-bytes", "104857600")
    event = ask(*words, "--backup-count", "3")["event"]
    assert event["event_id"] == "session-store-d0b64bda2a75d7e0ed3b88e6"  # of the existing tool, for the same words
    assert event["summary"] == "session_store_rotated store=y.json size_bytes=104857600 backup_count=3"
    assert (event["payload_bytes"], event["refs_bytes"], event["scope"]) == (99, 73, "global")
    assert (event["session_id"], event["type"]) == ("openclaw-session-store", "ops.observation")
    assert ask(*words, "--backup-count", "3")["known"]
    assert fail(*words, "--backup-count", "-3")[0] == 2


def test_a_query_says_when_it_was_cut():
    for number in range(3):
        append(f"e{number}", "done", *at(number))
    assert names(ask("query", "--scope", "alpha")) == ["e2", "e1", "e0"]
    first = ask("query", "--scope", "alpha", "--limit", "0")
    assert (names(first), first["filters"]["limit"], first["has_more"]) == (["e2"], 1, True)
    whole = ask("query", "--scope", "alpha", "--limit", "100000")
    assert (whole["count"], whole["filters"]["limit"], whole["limit_cut"]) == (3, 500, True)
    assert not {"has_more", "limit_cut"} & ask("query", "--scope", "alpha", "--limit", "3").keys()


def test_the_filters_of_a_query():
    append("e1", "done", *at(3), session="s1")
    append("e2", "done", *at(2), session="s2")
    append("e3", "done", *at(1), session="s2", event_type="ops.alert")
    append("e4", "done", *at(1), scope="beta")

    def find(*words):
        return names(ask("query", "--scope", "Alpha", *words))

    assert find("--session-id", "s2") == ["e2", "e3"]
    assert find("--from-ts-ms", at(2)[1]) == ["e2", "e3"]
    assert find("--from-ts-ms", at(2)[1], "--to-ts-ms", at(2)[1]) == ["e2"]
    assert find("--type", "ops.alert") == ["e3"]
    assert find("--type", "ops.alert, ops.decision", "--type", "tool.call") == ["e1", "e2", "e3"]
    assert fail("query", "--scope", "alpha", "--type", "x")[0] == 2
    assert fail("query", "--scope", "alpha", "--from-ts-ms", "9", "--to-ts-ms", "8")[0] == 2


def test_replay_shows_what_retention_removed():
    append("old", "done", *at(40), "--allow-tool-output", event_type="tool.result")
    append("new", "done", *at(50))
    assert ask("replay", "s", "--scope", "alpha")["gaps"] == []
    ask("gc", "--scope", "alpha", "--now-ts-ms", str(DAY))
    receipt = ask("replay", "s", "--scope", "alpha")
    assert names(receipt) == ["new"]
    assert receipt["gaps"] == [{"type": "tool.result", "removed_count": 1, "before_ms": DAY - 30 * DAY_MS}]
    assert ask("replay", "s", "--scope", "beta")["gaps"] == []


def test_search_finds_parts_of_words_in_every_text():
    append("bread", MIXED, session="s1")
    append("milk", "milk", "--payload-json", '{"note": "Sourdough"}', session="s2")
    append("flour", "flour", "--refs-json", '["面包"]', session="s2")
    append("other", MIXED, scope="beta")
    receipt = ask("search", "面包", "--scope", "alpha")
    sessions = receipt["result"]["sessions"]
    assert [session["session_id"] for session in sessions] == ["s2", "s1"]  # newest first
    assert sessions[1]["matched_items"][0]["match"] == {
        "lanes": ["text"], "rank": 2, "rrf_score": 1 / 62, "snippet": "今天我们买[面包]和牛奶吧",
    }  # fmt: skip
    hint = sessions[1]["replay_hint"]["command"]
    assert hint == "openclaw-web episodes replay s1 --scope alpha --json"
    assert names(ask(*shlex.split(hint)[2:-1])) == ["bread"]
    assert ask("search", "面", "--scope", "alpha")["result"]["count"] == 2
    assert ask("search", "DOUGH", "--scope", "alpha")["result"]["count"] == 1
    assert ask("search", "面包 milk", "--scope", "alpha")["result"]["count"] == 0
    assert "searched_back_to_ts_ms" not in receipt


def test_a_snippet_shows_a_payload_only_when_payloads_are_asked_for():
    append("milk", "milk", "--payload-json", '{"note": "Sourdough"}')
    words = ("search", "dough", "--scope", "alpha")
    snippets = [
        ask(*words, *more)["result"]["sessions"][0]["matched_items"][0]["match"]["snippet"]
        for more in ((), ("--include-payload",))
    ]
    assert snippets == ["milk", '{"note":"Sour[dough]"}']


def test_search_is_lexical_and_says_so():
    append("e1", "bread")
    for mode in ("vector", "hybrid"):
        status, receipt = fail("search", "bread", "--scope", "alpha", "--mode", mode)
        assert (status, receipt["error"].partition(" needs ")[0]) == (2, f"--mode {mode}")
    assert fail("embed", "--global") == (
        1,
        {
            "kind": "openclaw-mem.episodes.embed.v0",
            "ok": False,
            "error": "Events have no embeddings here: episodes search finds the words themselves.",
            "hint": "openclaw-web episodes VERB --help lists the options.",
        },
    )
    assert fail("search", " ", "--scope", "alpha")[1]["error"] == "query is required"
    trace = ask("search", "bread", "--scope", "alpha", "--trace", "--query-en", "x", "-k", "9")["trace"]
    assert [hit["event_id"] for hit in trace["fts_top_k"]] == ["e1"]
    assert trace["fused_ranking"][0]["rrf_score"] == 0.1


def test_search_limits():
    for number in range(6):
        append(f"e{number}", "bread", session=f"s{number % 2}")
    result = ask("search", "bread", "--scope", "alpha", "--limit", "1", "--per-session-limit", "2")["result"]
    (session,) = result["sessions"]
    assert (session["hit_count"], len(session["matched_items"]), session["summary"]) == (3, 2, "bread")
    receipt = ask("search", "bread", "--scope", "alpha", "--search-limit", "4")
    assert receipt["has_more"]
    assert sum(session["hit_count"] for session in receipt["result"]["sessions"]) == 4


def test_a_search_whose_time_is_up_says_how_far_it_looked(monkeypatch):
    append("first", "bread", *at(1))
    values = {"type": "ops.decision", "scope": "alpha", "session_id": "s", "agent_id": "a", "summary": "done"}
    for number in range(12):
        batch = [build_event(**values, ts_ms=DAY + 1000 * number + row) for row in range(1000)]
        append_events(agents.get("main").db, batch)
    assert ask("search", "bread", "--scope", "alpha")["result"]["count"] == 1
    monkeypatch.setattr(search, "SEARCH_MS", 1)
    receipt = ask("search", "bread", "--scope", "alpha")
    assert receipt["result"]["count"] == 0
    assert DAY < receipt["searched_back_to_ts_ms"] < DAY + 12_000


def test_texts_of_events_cannot_control_a_terminal(capfd):
    append("e1", "\x1b[31mred\x1b[0m‮")
    out = run("query", "--scope", "alpha")[1]
    assert not glyphs.HIDDEN.search(out.replace("\n", ""))
    assert "\\x1b[31mred" in out


def test_a_process_reads_leading_options_and_ends_quietly_on_a_closed_pipe(tmp_path):
    home = tmp_path / "home"
    words = ("--scope", "alpha", "--session-id", "s", "--agent-id", "a", "--type", "ops.alert", "--summary", MIXED)
    assert backup_homes.run(home, "episodes", "append", *words)[0] == 0
    status, out, err = backup_homes.run(home, "--db", "x", "--json", "episodic", "query", "--scope", "alpha")
    assert (status, json.loads(out)["count"]) == (0, 1)
    assert err == "--db is ignored: the ledger is in the file of the agent.\n"
    line = f"{shlex.quote(sys.executable)} -m openclaw_web episodes query --scope alpha | true"
    environment = backup_homes.build_environment(home)
    done = subprocess.run(["sh", "-c", line], cwd=backup_homes.ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    status, out, err = backup_homes.run(home, "episodes", "forget", "--json")
    assert (status, out, "invalid choice" in err) == (2, "", True)
    status, out, err = backup_homes.run(home, "episodes", "query", OPENCLAW_WEB_DISABLED="episodes")
    assert (status, out) == (3, "")
    assert "OPENCLAW_WEB_DISABLED" in err
