"""Texts beside transcripts are scanned: decisions, writes, memory files, windows, artifacts."""

import orjson
import pytest

from artifacts import services as artifacts
from artifacts.models import Artifact
from findings import places, scan, tables
from findings.models import Finding
from findings.value_hash import compute_value_hash
from gate.models import MemoryGateDecision
from gate.recording import windows
from gate.recording.windows import Window
from guardian.models import FileSnapshot
from tests.factories import DecisionFactory, SessionFactory, TurnFactory
from tests.findings.found_texts import MAIL, OTHER_MAIL, list_places, scan_everything
from tests.guardian.write_rows import create_write

DB = "agent_ada"
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


def test_windows_of_the_gate_are_found(store):
    message = {"role": "user", "message": f"I am {MAIL}", "timestamp": 1}
    windows.store_windows(DB, [Window((message,), "Hello", f"Hi {OTHER_MAIL}")])
    scan_everything(DB)
    assert [path for _source, _id, path in list_places(DB)] == ["$.currentAgentReply", "$.recentMessages[0].message"]


def test_a_content_is_found_once_and_only_its_first_part(store, monkeypatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 10_000)
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
