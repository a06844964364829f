"""Exports for OpenAI's fine-tuning and conversations without tools: files, page, API and command."""

import hashlib
import io

import orjson
import pytest
from django.core.management import call_command

from datasets.exports import exports
from datasets.exports.formats import find_notes
from datasets.models import DatasetSample
from openclaw_web.errors import Refused
from tests.datasets.exports.branches import body
from tests.datasets.exports.export_helpers import add_approved_samples, build_export, make_export
from tests.factories import SampleFactory
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import store_session

pytestmark = pytest.mark.django_db
API = "/api/v1/exports"


@pytest.fixture(autouse=True)
def turns(own_home):
    """Three turns; the second one calls a tool."""
    call = assistant("I will look.", ("c", "fs.read", {"path": "a"}))
    second = (user("question 2"), call, result("c", "notes"), assistant("answer 2"))
    store_session(user("question 1"), assistant("answer 1"), *second, user("question 3"), assistant("answer 3"))
    add_approved_samples(3)


def lines(export, name):
    return [orjson.loads(line) for line in (exports.folder_of(export) / name).read_bytes().splitlines()]


def test_rows_hold_messages_and_their_sources_lie_beside_them():
    export = build_export("openai")
    rows, sources = lines(export, "ocl_one_openai.train.jsonl"), lines(export, "ocl_one_openai.train.sources.jsonl")
    assert [list(row) for row in rows] == [["messages", "tools"]] * 3  # tools are inferred from the call
    assert [source["sample_id"] for source in sources] == ["sample-1", "sample-2", "sample-3"]
    assert [row["messages"][-1]["content"] for row in rows] == [f"answer {source['turn_number']}" for source in sources]
    assert [message["role"] for message in rows[2]["messages"]] == [
        *("user", "assistant"),
        *("user", "assistant", "tool", "assistant"),
        *("user", "assistant"),
    ]
    assert export.manifest["transformations"] == {"tool_names_changed": 3}  # of calls, and of the inferred tool


def test_the_manifest_knows_the_sources_and_no_trainer_is_promised_more():
    export = build_export("openai")
    files = {file["name"]: file for file in export.manifest["files"]}
    data = (exports.folder_of(export) / "ocl_one_openai.train.sources.jsonl").read_bytes()
    entry = files["ocl_one_openai.train.sources.jsonl"]
    assert (entry["rows"], entry["bytes"], entry["sha256"]) == (3, len(data), hashlib.sha256(data).hexdigest())
    assert "dataset_info.json" not in files


@pytest.mark.parametrize(
    ("rows", "largest", "names"),
    [
        (10, 512_000_000, []),
        (9, 512_000_001, ["fewer_than_10_rows", "larger_than_512_mb"]),
    ],
)
def test_what_openai_asks_of_files_is_noted(rows, largest, names):
    assert find_notes(rows, largest) == names


def test_few_rows_are_said_and_no_obstacle(as_reviewer):
    export = make_export(as_reviewer, format="openai")
    page = as_reviewer.get(export.get_absolute_url()).text
    assert (
        "OpenAI accepts training files of 10 rows or more" in page
        and "ocl_First-try_openai.train.sources.jsonl" in page
    )
    assert "Names of tools written with letters" in page
    assert "for chat fine-tuning" in page


def test_enough_rows_need_no_note():
    for number in range(4, 11):
        columns = {"session_id": f"s{number}", "turn_number": 1, "annotation_status": "approved"}
        SampleFactory(id=f"sample-{number}", content=body(number), **columns)
    assert build_export("openai").manifest["notes"] == []


def test_a_terminal_says_it_too():
    out = io.StringIO()
    call_command("export", "--format", "openai", "--name", "one", "--split", "1", stdout=out, stderr=io.StringIO())
    assert "ocl_one_openai.train.jsonl  3 rows" in out.getvalue()
    assert "OpenAI accepts training files of 10 rows or more" in out.getvalue()


# Without tools


def test_sharegpt_without_tools_is_what_unsloth_takes():
    export = build_export("sharegpt", tool_calls="leave_out")
    rows = lines(export, "ocl_one_sharegpt.train.jsonl")
    assert [[message["value"] for message in row["conversations"]] for row in rows] == [
        ["question 1", "answer 1"],
        ["question 3", "answer 3"],
    ]
    manifest = export.manifest
    assert manifest["excluded"] == [{"reason": "rests_on_tools", "count": 1, "samples": ["sample-2"]}]
    assert manifest["transformations"] == {"history_begins_after_turn_with_tools": 1}
    assert manifest["options"]["tool_calls"] == "leave_out"
    for row in rows:  # as its standardize_sharegpt asserts
        assert {key for message in row["conversations"] for key in message} == {"from", "value"}
        assert {message["from"] for message in row["conversations"]} <= {"human", "gpt"}


def test_the_page_offers_it_and_says_what_was_left_out(as_reviewer):
    assert "Unsloth reads only conversations without tool calls" in as_reviewer.get("/exports/").text
    export = make_export(as_reviewer, format="sharegpt", tool_calls="leave_out")
    page = as_reviewer.get(export.get_absolute_url()).text
    assert "Left out, with the turns whose reply rests on them" in page
    assert "With a reply that rests on tool results" in page


def test_an_export_of_nothing_but_tools_says_what_to_do():
    DatasetSample.objects.exclude(id="sample-2").update(annotation_status="rejected")
    with pytest.raises(Refused, match="Include tool calls"):
        build_export("sharegpt", tool_calls="leave_out")
