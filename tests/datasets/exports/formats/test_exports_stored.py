"""Exports of samples as they are stored, `raw` and `csv`.

Every column of a sample is in them, and no cell of a table is a formula.
"""

import csv
import io
import json
import os
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.exports import exports
from datasets.exports.files import encode_csv, encode_line
from datasets.exports.formats import FORMATS, RAW_COLUMNS, TABLE_COLUMNS, CanonicalRow
from datasets.json_texts import BAD
from datasets.models import DatasetExport, DatasetSample
from datasets.sample_texts import read_stored
from findings import scan
from openclaw_web import spreadsheets
from tests.datasets.exports.branches import body, stored_row
from tests.datasets.exports.export_helpers import build_export, make_export
from tests.factories import SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
GOLDENS = Path(__file__).parents[3] / "data" / "exports"
CONTEXT = [{"role": "user", "message": "I like mornings. ☀️"}, {"role": "agent", "message": "Noted,\n“mornings”."}]
GATE = {"output": {"decision": "UPDATE_USER", "reason": "Stable.", "candidateFact": "likes mornings"}}


def add_samples():
    """Add a full sample, a nearly empty one, and one with a formula."""
    judged = {"annotation_status": "approved", "annotated_by": "mei", "annotated_at": 1_764_000_000_000}
    judged |= {"session_id": "s1", "turn_id": "s1:u1", "created_at": 1_763_000_000_000}
    SampleFactory(
        id="full",
        turn_number=1,
        content=body(1, context=CONTEXT, memoryGate=GATE, writeGuardian=None),
        output="A better\nanswer, “with” commas",
        quality_score=0.82,
        quality_factors='{"conversationClarity": 0.9}',
        annotation_notes="good, 很好",
        gate_label="corrected",
        gate_corrected_output='{"decision": "UPDATE_SOUL", "reason": "r", "candidateFact": "f"}',
        privacy_checked=True,
        **judged,
    )
    SampleFactory(id="bare", turn_number=2, content=body(2), **judged)
    formula = body(3, userMessage='=HYPERLINK("http://x")', agentReply="-1\r\nand \x00")
    SampleFactory(id="odd", turn_number=3, content=formula, **judged)


def data(export, side="train"):
    [file] = exports.folder_of(export).glob(f"*_{export.export_format}.{side}.*")
    return file.read_bytes()


def records(export):
    return [orjson.loads(line) for line in data(export).splitlines()]


def cells(export):
    return list(csv.DictReader(io.StringIO(data(export).decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("format_", ["raw", "csv"])
def test_the_files_are_as_they_were(format_):
    add_samples()
    written = data(build_export(format_))
    path = GOLDENS / f"{format_}.{'csv' if format_ == 'csv' else 'jsonl'}"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_bytes(written)
    assert written == path.read_bytes(), "UPDATE_GOLDEN=1 rewrites it; look at the diff"


def test_raw_has_every_column_of_a_sample():
    columns = {field.column for field in DatasetSample._meta.concrete_fields}
    assert set(RAW_COLUMNS) == columns - {"annotated_by"}, "a column of a sample belongs in raw exports"


def test_raw_is_what_is_stored():
    add_samples()
    first, second, _ = records(build_export("raw"))
    assert first.keys() == second.keys()
    row = DatasetSample.objects.get(id="full")
    assert first["content"] == orjson.loads(row.content)
    assert first["qualityFactors"] == {"conversationClarity": 0.9}
    assert first["gateCorrectedOutput"]["decision"] == "UPDATE_SOUL"
    assert (first["privacyChecked"], first["containsPii"]) == (True, False)
    assert (first["annotationStatus"], first["qualityScore"]) == ("approved", 0.82)
    assert "annotatedBy" not in first and "mei" not in orjson.dumps(first).decode()
    assert (second["output"], second["qualityScore"], second["gateLabel"]) == (None, None, None)


def test_csv_reads_back_line_breaks_and_quotes_and_all():
    add_samples()
    export = build_export("csv")
    assert data(export).startswith(b"\xef\xbb\xbfsample_id,agent_id,session_id,turn_number,")
    full, bare, odd = cells(export)
    assert tuple(full) == TABLE_COLUMNS
    assert full["edited_reply"] == "A better\nanswer, “with” commas"
    assert full["context"] == "User: I like mornings. ☀️\nAgent: Noted,\n“mornings”."
    assert (full["memory_gate_decision"], full["candidate_fact"], full["memory_gate_reason"]) == (
        "UPDATE_SOUL",
        "f",
        "r",
    )
    assert (bare["context"], bare["edited_reply"], bare["quality_score"], bare["memory_gate_reason"]) == ("",) * 4
    assert odd["user_message"] == '\'=HYPERLINK("http://x")' and odd["agent_reply"] == "'-1\r\nand \ufffd"
    assert export.manifest["transformations"] == {"characters_replaced": 1, "formulas_marked": 1}


def test_content_that_is_no_json_is_there_all_the_same():
    SampleFactory(id="torn", content='{"userMessage": "h', annotation_status="approved")
    (record,) = records(build_export("raw"))
    assert record["content"] == '{"userMessage": "h'
    (row,) = cells(build_export("csv"))
    assert (row["sample_id"], row["user_message"]) == ("torn", "")


def test_other_types_of_samples_are_there_when_asked_for():
    SampleFactory(id="guard", sample_type="write_guardian_decision", content="{}", annotation_status="approved")
    SampleFactory(id="turn", annotation_status="approved", turn_number=2)
    exported = records(build_export("raw", sample_types=["annotated_turn", "write_guardian_decision"]))
    assert [record["id"] for record in exported] == ["guard", "turn"]
    assert [record["id"] for record in records(build_export("raw"))] == ["turn"]


@pytest.mark.parametrize("format_", ["raw", "csv"])
def test_the_task_chooses_the_samples(format_):
    add_samples()
    export = build_export(format_, task="gate")
    assert export.total_samples == 1
    (exclusion,) = export.manifest["excluded"]
    assert exclusion == {"reason": "no_decision", "count": 2, "samples": ["bare", "odd"]}


@pytest.mark.parametrize("format_", ["raw", "csv"])
def test_no_trainer_is_told_of_them_and_no_rule_stops_them(format_):
    for number in range(1, 4):
        content = body(number, userMessage="", agentReply=f"2026-01-0{number}")
        SampleFactory(id=f"x{number}", turn_number=number, content=content, annotation_status="approved")
    export = build_export(format_)
    assert not (exports.folder_of(export) / "dataset_info.json").exists()
    manifest = export.manifest
    assert (manifest["profile"], manifest["counts"]["rows"], manifest["notes"]) == ("stored", 3, [])


def test_transcripts_are_not_read(django_assert_max_num_queries):
    add_samples()
    scan.scan_agent("agent_ada")
    with django_assert_max_num_queries(36, using="agent_ada") as queries:
        build_export("raw")
    assert not [query for query in queries if "event_json" in query["sql"]]


def test_sides_are_those_of_every_format():
    for number in range(20):
        SampleFactory(id=f"x{number}", session_id=f"s{number}", content=body(number), annotation_status="approved")
    sides = {}
    for format_, name in (("alpaca", "session_id"), ("raw", "sessionId")):
        export = build_export(format_, train_split=0.5)
        for side in ("train", "test"):
            sides[format_, side] = {orjson.loads(line)[name] for line in data(export, side).splitlines()}
    assert sides["alpaca", "train"] == sides["raw", "train"] and sides["raw", "test"]


def test_the_page_offers_them_and_sends_a_table(as_reviewer):
    add_samples()
    export = make_export(as_reviewer, format="csv")
    page = as_reviewer.get(export.get_absolute_url()).text
    assert "CSV: samples as a table for spreadsheets" in page and "ocl_First-try_csv.train.csv" in page
    assert "With texts that begin like a formula" in page
    answer = as_reviewer.get(f"{export.get_absolute_url()}files/ocl_First-try_csv.train.csv")
    assert answer["Content-Type"] == "text/csv" and b"".join(answer.streaming_content) == data(export)
    assert DatasetExport.objects.get().state == "ready"


CELLS = st.text(st.characters(codec=None) | st.sampled_from("=+-@\t\r\n\x00\",'＝ \ud83d"), max_size=20)


@given(CELLS, CELLS, CELLS)
def test_whatever_was_said_a_table_has_one_row_for_it_and_no_formula(question, reply, edited):
    content = {"userMessage": question, "agentReply": reply}
    sample = read_stored(stored_row(json.dumps(content), output=edited))
    line, _, _ = encode_csv(FORMATS["csv"].build(CanonicalRow(sample)), frozenset())
    (row,) = csv.reader(io.StringIO(line.decode(), newline=""))
    assert len(row) == len(TABLE_COLUMNS) and not any(cell.startswith(spreadsheets.FORMULA) for cell in row)
    read = orjson.loads(encode_line(FORMATS["raw"].build(CanonicalRow(sample)), frozenset())[0])
    assert read["content"] == {name: BAD.sub("\ufffd", text) for name, text in content.items()}
