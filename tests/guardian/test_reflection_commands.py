"""`reflection gate` and `reflection guardian`: common behaviour of lists, files and records."""

import io
import sys

import orjson
import pytest

from gate.models import MemoryGateDecision
from guardian.models import GuardianStatus, WriteGuardianAudit
from tests import factories
from tests.guardian.write_rows import create_write
from tests.suite import commands
from tests.suite.commands import read_answer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada")]
DB, T0 = "agent_ada", factories.T0
MINUTE = 60_000
NAMES = {"gate": "decisions", "guardian": "writes"}
TABLES = {"gate": MemoryGateDecision, "guardian": WriteGuardianAudit}
COMMON = {"session_id": "s9", "candidate_fact": "A fact.", "created_at": T0}
ENTRIES = {
    "gate": COMMON | {"decision": "UPDATE_USER", "reason": "Yes.", "llm_model": "m"},
    "guardian": COMMON | {"target_file": "USER.md", "status": "written"},
}
both = pytest.mark.parametrize("verb", NAMES)


@pytest.fixture
def stored_rows():
    """Three decisions and two writes of one session, and one of each of another.

    Those of the first session are a minute apart, those of the other are a day later.
    """
    factories.SessionFactory(id="s1", session_key="agent:ada:irc:x")
    for n in range(3):
        factories.DecisionFactory(id=f"d{n}", session_id="s1", created_at=T0 + n * MINUTE)
    columns = {"session_id": "s2", "created_at": T0 + 1_440 * MINUTE}
    factories.DecisionFactory(id="d3", decision="NO_WRITE", candidate_fact=None, **columns)
    (
        create_write(DB, 1, None, b"tea\n", created_at=T0),
        create_write(DB, 2, b"tea\n", b"coffee\n", created_at=T0 + MINUTE),
    )
    create_write(DB, 3, None, None, target_file="USER.md", status="refused", **columns)


def ids(verb, *words):
    out, status = read_answer(verb, "list", *words, "--json")
    assert status == 0, out
    return " ".join(row["id"] for row in orjson.loads(out)[NAMES[verb]])


@pytest.mark.parametrize(
    ("verb", "words", "expected"),
    [
        ("gate", "", "d3 d2 d1 d0"),
        ("gate", "--limit 2", "d3 d2"),
        ("gate", "s1", "d2 d1 d0"),
        ("gate", "channel:irc:x -l 1", "d2"),
        ("gate", "--session s2", "d3"),
        ("gate", "-d NO_WRITE", "d3"),
        ("gate", "--since 2026-01-05T00:01:00Z --until 2026-01-06", "d2 d1"),
        ("gate", "-s 2026-01-05T02:00:00+01:00", "d3"),
        ("guardian", "", "w3 w2 w1"),
        ("guardian", "--limit 2", "w3 w2"),
        ("guardian", "s1", "w2 w1"),
        ("guardian", "channel:irc:x -l 1", "w2"),
        ("guardian", "-f USER.md", "w3"),
        ("guardian", "-s refused", "w3"),
        ("guardian", "--since 2026-01-05T00:01:00Z --until 2026-01-06", "w2"),
    ],
)
def test_a_list_is_narrowed(stored_rows, verb, words, expected):
    assert ids(verb, *words.split()) == expected


@pytest.mark.parametrize(
    ("verb", "words", "sentence"),
    [
        *((verb, "list --since yesterday", "is not an ISO 8601 time") for verb in NAMES),
        *((verb, "list --limit 0", "must be 1 to") for verb in NAMES),
        *((verb, "export --json", "--output") for verb in NAMES),
        *((verb, "export -o /no/such/folder", "cannot be written") for verb in NAMES),
        *((verb, "record /no/such/file", "cannot be read") for verb in NAMES),
        ("gate", "list s1 -S s2", "Name the session once"),
        ("gate", "list -x", "-x"),
        ("guardian", "list -s gone", "gone"),
        ("guardian", "history", ""),
        ("guardian", "history MEMORY.md -f MEMORY.md", ""),
        ("guardian", "history NOTES.md", ""),
    ],
)
def test_wrong_use_is_told(stored_rows, verb, words, sentence):
    out, status = read_answer(verb, *words.split())
    assert (status, sentence in out, "d0" in out) == (2, True, False)


@both
def test_an_agent_that_is_not_there_is_told(verb):
    status, _out, error = commands.run("reflection", verb, "list", "--agent", "nobody")
    assert (status, "There is no agent nobody" in error) == (3, True)


@pytest.mark.parametrize(
    ("verb", "kind", "which"),
    [
        *(("gate", kind, "-S s1") for kind in ("json", "jsonl", "csv")),
        *(("guardian", kind, "-f MEMORY.md") for kind in ("json", "csv")),
    ],
)
def test_an_export_has_every_row_that_fits(stored_rows, tmp_path, verb, kind, which):
    file = tmp_path / "out"
    out, status = read_answer(verb, "export", "--format", kind, *which.split(), "--output", str(file))
    rows = commands.parse_rows(file.read_text("utf-8"), kind)
    assert (status, f"{len(rows)} {NAMES[verb]} " in out) == (0, True)
    assert [row["id"] for row in rows] == ids(verb, *which.split()).split()
    assert rows[0]["candidate_fact"] and "place" not in rows[0]


@both
@pytest.mark.parametrize("spell", ["a list", "lines", "a body of the API"])
def test_entries_are_recorded_from_a_file(tmp_path, verb, spell):
    entries = [ENTRIES[verb] | {"id": f"n{n}", "created_at": T0 + n} for n in range(205)]
    spelled = {"a list": orjson.dumps(entries), "lines": b"\n".join(map(orjson.dumps, entries))}
    file = tmp_path / "entries"
    file.write_bytes(spelled.get(spell) or orjson.dumps({NAMES[verb]: entries}))
    assert read_answer(verb, "record", str(file)) == (f"205 {NAMES[verb]} recorded.\n", 0)
    assert TABLES[verb].objects.using(DB).count() == 205
    assert read_answer(verb, "record", str(file)) == (f"0 {NAMES[verb]} recorded, 205 already known.\n", 0)
    assert set(GuardianStatus.objects.using(DB).values_list("given_by", flat=True)) <= {"command line"}


@both
def test_standard_input_and_json(monkeypatch, verb):
    data = orjson.dumps([ENTRIES[verb] | {"id": name} for name in "ab"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    receipt = orjson.loads(read_answer(verb, "record", "--json")[0])
    assert (receipt["recorded"], receipt["known"], receipt["withheld"]) == (2, 0, 0)


def spelled(verb, *changes):
    return orjson.dumps([ENTRIES[verb] | {"id": "good"}, *(ENTRIES[verb] | {"id": "bad"} | each for each in changes)])


@pytest.mark.parametrize(
    ("verb", "data", "why"),
    [
        *((verb, b"{half", "Line 1 is not JSON") for verb in NAMES),
        *((verb, orjson.dumps(["text"]), "1:") for verb in NAMES),
        ("gate", b"[]", "There is no decision"),
        ("guardian", b"", "There is no write"),
        ("gate", spelled("gate", {"decision": "MAYBE"}), "bad: decision"),
        ("gate", spelled("gate", {"candidate_fact": None}), "candidate_fact is required"),
        ("guardian", spelled("guardian", {"status": "perhaps"}), "1 entry is not valid.\n  bad: status"),
        ("guardian", spelled("guardian", {"before": "x"}), "before and after belong together"),
    ],
)
def test_what_cannot_be_recorded_stores_nothing(tmp_path, verb, data, why):
    (tmp_path / "entries").write_bytes(data)
    out, status = read_answer(verb, "record", str(tmp_path / "entries"))
    assert (status, why in out) == (3, True)
    assert not TABLES[verb].objects.using(DB).exists()


def test_all_missing_fields_are_named_once(tmp_path):
    (tmp_path / "entries").write_bytes(orjson.dumps([{"id": "bad", "decision": "MAYBE"}]))
    out, status = read_answer("gate", "record", str(tmp_path / "entries"))
    first, second = out.splitlines()
    assert (status, first) == (3, "Nothing was stored: 1 entry is not valid.")
    assert second.startswith("  bad: missing: session_id, reason, ") and "created_at; decision: Input" in second


@both
def test_a_batch_that_is_refused_says_what_was_stored_before_it(tmp_path, verb):
    entries = [ENTRIES[verb] | {"id": f"n{n}", "created_at": T0 + n} for n in range(121)]
    (tmp_path / "first").write_bytes(orjson.dumps(entries[120]))
    read_answer(verb, "record", str(tmp_path / "first"))
    entries[120] = entries[120] | {"candidate_fact": "Another."}
    (tmp_path / "entries").write_bytes(orjson.dumps(entries))
    out, status = read_answer(verb, "record", str(tmp_path / "entries"))
    assert status == 3 and f"Before it: 100 {NAMES[verb]} recorded." in out
    assert TABLES[verb].objects.using(DB).count() == 101
