"""Texts beside transcripts are scanned: decisions, writes, memory files, windows, artifacts."""

import re
from pathlib import Path

import orjson
import pytest
from django.db import connections

from artifacts import search_source
from artifacts import services as artifacts
from artifacts.models import Artifact
from datasets.models import FindingValue
from findings import places, rescan, scan, tables, transcript_documents
from findings.models import Finding
from findings.value_hash import compute_value_hash
from gate.models import GatePrompt, MemoryGateDecision
from gate.recording import decision_store, windows
from gate.recording.windows import Window
from guardian import services
from guardian.models import BehaviorCorrection, FileSnapshot
from tests.factories import DecisionFactory, SessionFactory, TurnFactory
from tests.findings.scan_helpers import MAIL, OTHER_MAIL, list_places, scan_everything
from tests.guardian.write_rows import create_write

DB = "agent_ada"
TESTS = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.django_db


@pytest.fixture
def store(ada, settings, tmp_path):
    settings.HOME_DIR = tmp_path
    (tmp_path / "state").mkdir()
    return ada


def test_decisions_and_writes_are_found_with_their_turn(store):
    session = SessionFactory(db=DB)
    turn = TurnFactory(db=DB, session=session, turn_number=4)
    row = DecisionFactory(
        db=DB, session_id=session.id, turn_id=turn.id, decision="UPDATE_USER", candidate_fact=f"Mail: {MAIL}"
    )
    write = create_write(DB, 1, b"", f"Mail: {OTHER_MAIL}".encode(), candidate_fact=f"Mail: {MAIL}", reason="asked")
    scan_everything(DB)
    snapshot = FileSnapshot.objects.using(DB).get(content__contains=OTHER_MAIL)
    assert list_places(DB) == [
        ("decision", row.id, "$.candidate_fact"),
        ("snapshot", snapshot.id, "$"),
        ("write", write.id, "$.candidate_fact"),
    ]
    finding = Finding.objects.using(DB).get(source="decision")
    assert (finding.session_id, finding.turn_number, places.find_place_id(finding)) == (
        session.id,
        4,
        f"decision:{row.id}",
    )
    assert [places.read_value(DB, row) for row in Finding.objects.using(DB).order_by("source")] == [
        MAIL, OTHER_MAIL, MAIL
    ]  # fmt: skip
    assert scan_everything(DB).scanned == 0


def test_a_decision_that_a_later_report_completes_is_scanned_again(store):
    row = DecisionFactory(db=DB, decision="NO_WRITE", candidate_fact=None, reason=f"Said {OTHER_MAIL}")
    DecisionFactory(db=DB, decision="NO_WRITE", candidate_fact=None)
    decision_store.add_facts(DB, {row.id: "before any scan"})  # what no scan has seen needs no second one
    assert not rescan.select_noted(DB).exists()
    MemoryGateDecision.objects.using(DB).filter(id=row.id).update(candidate_fact=None)
    scan_everything(DB)
    decision_store.add_facts(DB, {row.id: f"Mail: {MAIL}"})
    assert scan.is_needed() and scan.count_unscanned(DB) == 1
    assert scan_everything(DB).findings == 2 and not scan.is_needed()
    assert list_places(DB) == [("decision", row.id, "$.candidate_fact"), ("decision", row.id, "$.reason")]
    assert FindingValue.objects.get(value_hash=compute_value_hash("email", MAIL)).places == 1
    assert scan_everything(DB).findings == 0


def test_windows_of_the_gate_are_found(store):
    message = {"role": "user", "message": f"I am {MAIL}", "timestamp": 1}
    windows.store_windows(DB, [Window((message,), "Hello", f"Hi {OTHER_MAIL}")])
    scan_everything(DB)
    assert [path for _source, _id, path in list_places(DB)] == ["$.currentAgentReply", "$.recentMessages[0].message"]


def test_a_content_is_found_once_and_only_its_first_part(store, monkeypatch):
    for module in (tables, search_source):
        monkeypatch.setattr(module, "MOST_BYTES", 10_000)
    text = f"mail {MAIL}\n" + "x\n" * 10_000 + f"mail {OTHER_MAIL}\n"
    for place in ("a", "b"):
        artifacts.stash(DB, text, kind="note", place=artifacts.Place(session_id=place))
    result = scan_everything(DB)
    assert result.cut > 0 and "Only the first 5 MB" in scan.describe(result)
    [row] = Finding.objects.using(DB).all()
    assert (row.source, places.read_value(DB, row)) == ("artifact", MAIL)
    assert row.source_id == Artifact.objects.using(DB).first().handle


def test_findings_of_removed_rows_are_removed(store):
    first = DecisionFactory(db=DB, candidate_fact=f"Mail: {MAIL}", decision="UPDATE_USER")
    gone = DecisionFactory(db=DB, candidate_fact=f"Mail: {OTHER_MAIL}", decision="UPDATE_USER")
    scan_everything(DB)
    MemoryGateDecision.objects.using(DB).filter(id=gone.id).delete()
    scan_everything(DB)
    assert [source_id for _source, source_id, _path in list_places(DB)] == [first.id]


def test_a_row_that_takes_the_number_of_a_removed_one_is_scanned(store):
    DecisionFactory(db=DB, candidate_fact="Nothing", decision="UPDATE_USER")
    gone = DecisionFactory(db=DB, candidate_fact=f"Mail: {OTHER_MAIL}", decision="UPDATE_USER")
    scan_everything(DB)
    MemoryGateDecision.objects.using(DB).filter(id=gone.id).delete()
    new = DecisionFactory(db=DB, candidate_fact=f"Mail: {MAIL}", decision="UPDATE_USER")
    scan_everything(DB)
    assert [source_id for _source, source_id, _path in list_places(DB)] == [new.id]


def test_binary_contents_are_not_scanned(store):
    artifacts.stash(DB, b"\0\1\2" * 500 + MAIL.encode(), kind="note")
    assert scan_everything(DB).findings == 0


def test_json_within_an_artifact_is_found(store):
    artifacts.stash(DB, orjson.dumps({"to": MAIL, "cc": [OTHER_MAIL]}), kind="note")
    scan_everything(DB)
    hashes = set(Finding.objects.using(DB).values_list("value_hash", flat=True))
    assert hashes == {compute_value_hash("email", mail) for mail in (MAIL, OTHER_MAIL)}


def test_answers_corrections_prompts_and_workspace_files_are_found(store):
    DecisionFactory(db=DB, decision="NO_WRITE", raw_response=f'{{"decision": "NO_WRITE", "reason": "{MAIL}"}}')
    write = create_write(DB, 1, b"", b"Likes tea.")
    correction = {"original_status": "written", "corrected_status": "refused", "correction_reason": "no"}
    BehaviorCorrection.objects.using(DB).create(
        id="c1", audit_id=write.id, corrected_candidate_fact=f"Mail: {OTHER_MAIL}", corrected_by="mei",
        corrected_at=1, **correction,
    )  # fmt: skip
    GatePrompt.objects.using(DB).create(id="p1", text=f"Never store {MAIL}.", created_at=1)
    services.store_version(DB, "HEARTBEAT.md", f"Write to {MAIL}".encode(), modified_ms=1)
    scan_everything(DB)
    assert [(source, path) for source, _id, path in list_places(DB)] == [
        ("correction", "$.corrected_candidate_fact"),
        ("decision", "$.raw_response"),
        ("file", "$"),
        ("instruction", "$"),
    ]
    rows = Finding.objects.using(DB).all()
    assert {places.read_value(DB, row) for row in rows} == {MAIL, OTHER_MAIL}
    assert [places.find_place_id(row) for row in rows] == [f"{row.source}:{row.source_id}" for row in rows]


def test_each_column_with_words_is_scanned_or_named(store):
    """A new column has to be scanned, or named in docs/findings.md with a reason."""
    tables_of_agent = set(connections[DB].introspection.table_names())
    lines = [line.split() for line in (TESTS / "data" / "columns.txt").read_text().splitlines()]
    columns = {line[0] for line in lines if {"words", "own"} & set(line[1:])}
    columns = {name for name in columns if name.partition(".")[0] in tables_of_agent}
    scanned = {f"{table.model._meta.db_table}.{name}" for table in tables.TABLES for name in table.columns}
    scanned |= {f"transcript_events.{name}" for name in transcript_documents.COLUMNS}
    text = (TESTS.parent / "docs" / "findings.md").read_text()
    named = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", text.partition("## What is not scanned")[2].partition("\n## ")[0]))
    assert not named & scanned, "scanned columns that the documentation names as not scanned"
    assert columns - scanned == named
