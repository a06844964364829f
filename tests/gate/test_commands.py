"""`openclaw-web reflection gate`: what a person in a terminal and a program get."""

import csv
import io

import orjson
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from gate.models import MemoryGateDecision
from people.configuration import keys as configuration
from tests import factories
from tests.factories import T0

pytestmark = pytest.mark.django_db


@pytest.fixture
def gate(capsys, tmp_path, ada):
    """Runs a verb: what it printed, and how it ended."""

    def run(*words, **stdin):
        try:
            call_command("reflection", "gate", *words, "--agent", "ada")
        except CommandError as error:
            return capsys.readouterr().out + str(error), error.returncode
        return capsys.readouterr().out, 0

    return run


@pytest.fixture
def decisions(ada):
    """Three decisions of one session, a minute apart, and one of another."""
    factories.SessionFactory(id="s1", session_key="agent:ada:irc:x")
    for n in range(3):
        factories.DecisionFactory(id=f"d{n}", session_id="s1", created_at=T0 + n * 60_000)
    factories.DecisionFactory(
        id="other", session_id="s2", decision="NO_WRITE", candidate_fact=None, created_at=T0 + 86_400_000
    )


def ids(text):
    return [row["id"] for row in orjson.loads(text)["decisions"]]


def told(**more):
    base = {
        "id": "new",
        "session_id": "s9",
        "decision": "NO_WRITE",
        "reason": "No.",
        "llm_model": "m",
        "created_at": T0,
    }
    return base | more


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], ["other", "d2", "d1", "d0"]),
        (["--limit", "2"], ["other", "d2"]),
        (["s1"], ["d2", "d1", "d0"]),
        (["channel:irc:x", "-l", "1"], ["d2"]),
        (["--session", "s2"], ["other"]),
        (["-d", "NO_WRITE"], ["other"]),
        (["--since", "2026-01-05T00:01:00Z", "--until", "2026-01-06"], ["d2", "d1"]),
        (["-s", "2026-01-05T02:00:00+01:00"], ["other"]),
    ],
)
def test_a_list_is_narrowed(gate, decisions, words, found):
    out, status = gate("list", *words, "--json")
    assert (ids(out), status) == (found, 0)


def test_a_list_in_words_has_reason_fact_and_window(gate, decisions):
    out, _status = gate("list", "-l", "2", "-c")
    assert "UPDATE_USER" in out and "A stable preference." in out and "→ prefers mornings" in out
    assert "What the gate saw is not known." in out


def test_one_decision_is_shown(gate, decisions):
    out, _status = gate("show", "d1")
    assert "session: s1" in out and "cost: –" in out
    assert orjson.loads(gate("show", "d1", "--json")[0])["decision"]["candidate_fact"] == "prefers mornings"
    out, status = gate("show", "nothing")
    assert status == 3 and "has no decision nothing" in out


def test_a_column_with_a_label_is_told(gate, decisions, as_admin, monkeypatch):
    monkeypatch.setattr(MemoryGateDecision._meta.get_field("window_hash"), "label", "Seen as")
    MemoryGateDecision.objects.using("agent_ada").filter(id="d1").update(window_hash="feed")
    assert "\n  seen as: feed" in gate("show", "d1")[0] and "seen as" not in gate("show", "d0")[0]
    page = as_admin.get(MemoryGateDecision.objects.using("agent_ada").get(id="d1").get_absolute_url()).content.decode()
    assert "<dt>Seen as</dt><dd>feed</dd>" in page


@pytest.mark.parametrize(
    "words", [["list", "--since", "yesterday"], ["list", "--limit", "0"], ["list", "s1", "-S", "s2"], ["list", "-x"]]
)
def test_wrong_use_is_told(gate, decisions, words):
    assert gate(*words)[1] == 2


def test_an_agent_that_is_not_there_is_told(capsys, db):
    with pytest.raises(CommandError, match="There is no agent nobody") as refused:
        call_command("reflection", "gate", "list", "--agent", "nobody")
    assert refused.value.returncode == 3


@pytest.mark.parametrize(("option", "keys"), [("--weekly", 1), ("--by-session", 2), ("--by-model", 1), ("--daily", 2)])
def test_statistics_are_told_by_what_is_asked(gate, decisions, option, keys):
    days = ["--since", "2026-01-05", "--until", "2026-01-06"]
    rows = orjson.loads(gate("stats", option, *days, "--json")[0])["rows"]
    assert (len([row for row in rows if row["total"]]), sum(row["total"] for row in rows)) == (keys, 4)
    out, status = gate("stats", option, *days)
    assert status == 0 and "NO_WRITE" in out


def test_statistics_that_are_off_are_told(gate, decisions):
    configuration.put("memoryGateAuditing.enableStats", False)
    out, status = gate("stats")
    assert status == 3 and "turned off" in out


@pytest.mark.parametrize("kind", ["json", "csv", "jsonl"])
def test_an_export_has_every_decision_that_fits(gate, decisions, tmp_path, kind):
    file = tmp_path / "out"
    out, status = gate("export", "--format", kind, "-S", "s1", "--output", str(file))
    assert status == 0 and "3 decisions written" in out
    text = file.read_text("utf-8")
    rows = {
        "json": lambda: orjson.loads(text),
        "csv": lambda: list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))),
        "jsonl": lambda: [orjson.loads(line) for line in text.splitlines()],
    }[kind]()
    assert [row["id"] for row in rows] == ["d2", "d1", "d0"]
    assert rows[0]["candidate_fact"] == "prefers mornings"


@pytest.mark.parametrize("kind", ["json", "csv", "jsonl"])
def test_a_file_has_window_and_response_when_asked(gate, decisions, tmp_path, kind):
    file = tmp_path / "file"
    MemoryGateDecision.objects.using("agent_ada").filter(id="d0").update(raw_response='{"decision": "NO_WRITE"}')
    assert gate("export", "--format", kind, "--with-context", "--with-response", "-o", str(file))[1] == 0
    text = file.read_text("utf-8")
    rows = {
        "json": lambda: orjson.loads(text),
        "csv": lambda: list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))),
        "jsonl": lambda: [orjson.loads(line) for line in text.splitlines()],
    }[kind]()
    found = {row["id"]: row for row in rows}
    assert found["d0"]["raw_response"].lstrip("'") == '{"decision": "NO_WRITE"}' and not found["d1"]["raw_response"]
    shown = orjson.loads(gate("show", "d0", "--with-context", "--json")[0])["decision"]
    context = found["d0"]["context"]
    assert (orjson.loads(context) if kind == "csv" and context else context or None) == shown["context"]
    assert found["d0"]["context_state"] == shown["context_state"]
    gate("export", "--format", kind, "-o", str(file))
    assert "raw_response" not in file.read_text("utf-8") and "context" not in file.read_text("utf-8")


def test_a_receipt_and_decisions_are_never_one_output(gate, decisions):
    out, status = gate("export", "--json")
    assert status == 2 and "--output" in out
    assert "d0" not in out


def test_a_file_that_cannot_be_written_is_told(gate, decisions, tmp_path):
    out, status = gate("export", "-o", str(tmp_path / "no" / "where"))
    assert status == 2 and "cannot be written" in out


@pytest.mark.parametrize(
    "spell",
    [orjson.dumps, lambda rows: b"\n".join(map(orjson.dumps, rows)), lambda rows: orjson.dumps({"decisions": rows})],
)
def test_decisions_are_recorded_from_a_file(gate, tmp_path, spell):
    file = tmp_path / "decisions"
    file.write_bytes(spell([told(id=f"n{n}", created_at=T0 + n) for n in range(205)]))
    assert gate("record", str(file)) == ("205 decisions recorded.\n", 0)
    assert MemoryGateDecision.objects.using("agent_ada").count() == 205
    assert gate("record", str(file)) == ("0 decisions recorded, 205 already known.\n", 0)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{half", "Line 1 is not JSON"),
        (b"[]", "There is no decision"),
        (orjson.dumps([told(), told(id="bad", decision="MAYBE")]), "bad: decision"),
        (orjson.dumps([told(id="bad", decision="UPDATE_USER")]), "candidate_fact is required"),
        (orjson.dumps(["text"]), "1:"),
    ],
)
def test_what_cannot_be_recorded_stores_nothing(gate, tmp_path, data, why):
    file = tmp_path / "decisions"
    file.write_bytes(data)
    out, status = gate("record", str(file))
    assert status == 3 and why in out
    assert not MemoryGateDecision.objects.using("agent_ada").exists()


def test_all_missing_fields_are_named_once(gate, tmp_path):
    file = tmp_path / "decisions"
    file.write_bytes(orjson.dumps([{"id": "bad", "decision": "MAYBE"}, told()]))
    out, status = gate("record", str(file))
    first, second = out.splitlines()
    assert (status, first) == (3, "Nothing was stored: 1 entry is not valid.")
    assert second.startswith("  bad: missing: session_id, reason, ") and "created_at; decision: Input" in second


def test_a_file_that_is_not_there_is_told(gate, tmp_path):
    assert gate("record", str(tmp_path / "nothing"))[1] == 2
