"""Messages, preference pairs and KTO in the files of whole exports."""

import json
import os
import subprocess
import sys

import orjson
import pytest
import yaml

from datasets.exports import exports
from datasets.exports.files import read_parquet
from datasets.exports.verification import verify
from datasets.models import DatasetExport, DatasetSample
from openclaw_web.errors import Refused
from tests.consumers.conftest import READERS
from tests.consumers.readers.card_blocks import read_blocks
from tests.datasets.exporters.judged_samples import (
    ARGUMENTS,
    NEW,
    OLD,
    store_judged_decisions,
    store_judged_turns,
    store_judged_writes,
)
from tests.datasets.exports.branches import Steps, body
from tests.datasets.exports.export_helpers import build_export, excluded_samples, read_rows
from tests.factories import SampleFactory
from tests.homes import assistant, user
from tests.ledger.transcript_records import store_session

pytestmark = pytest.mark.django_db
PAIRS = ("preference", "openai_preference", "llamafactory_preference")


@pytest.fixture(autouse=True)
def turns(own_home):
    store_judged_turns()


def find_answers(row):
    """The chosen and the rejected answer of a row, in any of the three forms."""
    names = ("preferred_output", "non_preferred_output") if "input" in row else ("chosen", "rejected")
    answers = (row[name][0] if isinstance(row[name], list) else row[name] for name in names)
    return tuple(answer.get("content", answer.get("value")) for answer in answers)


def find_prompt(row):
    """The messages of the question of a row."""
    if "input" in row:
        return row["input"]["messages"]
    return row.get("prompt") or row["conversations"]


def list_paths(value, path=""):
    """The paths of all keys in a value of JSON."""
    if isinstance(value, dict):
        return {inner for key, item in value.items() for inner in {f"{path}.{key}"} | list_paths(item, f"{path}.{key}")}
    return {inner for item in value for inner in list_paths(item, path)} if isinstance(value, list) else set()


# Messages


def test_messages_have_calls_as_objects_and_results_with_their_tool():
    rows = read_rows(build_export("messages"))
    assert [row["turn_number"] for row in rows] == ["1", "2", "3", "4"]
    question, call, answer, reply = rows[1]["messages"][2:]
    assert question == {"role": "user", "content": "question 2"}
    function = {"name": "read", "arguments": ARGUMENTS}
    call_id = call["tool_calls"][0]["id"]
    assert call == {
        "role": "assistant",
        "content": "I will look.",
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }
    assert answer == {"role": "tool", "name": "read", "tool_call_id": call_id, "content": "notes"}
    assert reply == {"role": "assistant", "content": "a better answer 2"} and len(call_id) == 9
    assert len({tuple(row) for row in rows}) == 1


def test_tools_that_nobody_recorded_are_inferred_from_calls_and_said_to_be():
    export = build_export("messages")
    [row] = [row for row in read_rows(export) if row["turn_number"] == "1"]
    [tool] = json.loads(row["tools"])
    properties = {"deep": {"type": "object"}, "lines": {"type": "array", "items": {}}, "path": {"type": "string"}}
    assert tool["function"]["name"] == "read"
    assert tool["function"]["parameters"] == {"type": "object", "properties": properties, "required": []}
    assert (row["system_source"], row["tools_source"]) == ("", "inferred")
    assert export.manifest["prompts"]["tools"] == {"rows": 4, "left_out": {}, "inferred": {"not_recorded": 4}}


def test_messages_that_are_context_are_marked():
    rows = read_rows(build_export("messages", history="context"))
    marks = [(message["role"], message["train"]) for message in rows[1]["messages"]]
    assert marks == [
        *(("user", False), ("assistant", False)),
        *(("user", False), ("assistant", True), ("tool", False), ("assistant", True)),
    ]
    folder = exports.folder_of(build_export("messages", history="context", name="two"))
    [read] = yaml.safe_load(read_blocks(folder)["Axolotl", "yaml"])["datasets"]
    assert (read["type"], read["field_messages"]) == ("chat_template", "messages")
    assert read["message_field_training"] == "train"


def test_parquet_has_the_same_rows():
    parquet = pytest.importorskip("pyarrow.parquet")
    plain = read_rows(build_export("messages"))
    export = build_export("parquet", name="two")
    [file] = exports.folder_of(export).glob("ocl_two_parquet.train.parquet")
    read = parquet.read_table(file).to_pylist()
    for row in read:
        row["messages"] = [
            {key: value for key, value in message.items() if value is not None} for message in row["messages"]
        ]
        for call in (call for message in row["messages"] for call in message.get("tool_calls", ())):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    assert read == plain == list(read_parquet(file))
    report = verify(export, Steps())
    assert report["is_intact"], report["files"][0]
    metadata = parquet.ParquetFile(file).metadata.row_group(0)
    assert metadata.total_byte_size <= 64_000_000 and metadata.column(0).has_offset_index
    wrong = orjson.loads(export.manifest_json)
    [entry] = [entry for entry in wrong["files"] if entry["name"] == file.name]
    entry["rows"] += 1
    DatasetExport.objects.filter(id=export.id).update(manifest_json=orjson.dumps(wrong).decode())
    [problem] = [
        check["reason"]
        for check in verify(DatasetExport.objects.get(id=export.id), Steps())["files"]
        if check["name"] == file.name
    ]
    assert problem == "4 rows instead of 5 rows."
    [entry] = [entry for entry in export.manifest["files"] if entry["name"] == file.name]
    assert (entry["rows"], entry["bytes"]) == (len(plain), file.stat().st_size)


def test_the_page_of_a_parquet_export_says_where_to_look(as_reviewer):
    pytest.importorskip("pyarrow")
    page = as_reviewer.get(build_export("parquet").get_absolute_url()).text
    assert "Rows of Parquet files are not shown" in page


def test_without_pyarrow_parquet_is_refused_with_what_to_install(own_home, tmp_path):
    """In a process that cannot find the library."""
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import django; django.setup()\n"
        "from datasets.exports.options import Options, check_options\n"
        "from openclaw_web.errors import Refused\n"
        "try:\n    check_options(Options('parquet', 'reply'))\n"
        "except Refused as refused:\n    print(refused.sentence)\n"
    )
    environment = {"DJANGO_SETTINGS_MODULE": "openclaw_web.settings", "OPENCLAW_WEB_HOME": str(tmp_path)}
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert answer.stdout == "Parquet files need pyarrow. Install it with: pip install openclaw-web[parquet]\n"


# ShareGPT of the spec


def test_the_specs_own_sharegpt_has_decisions_in_the_agents_messages():
    store_judged_decisions()
    export = build_export("sharegpt_reflection", duplicates="keep")
    rows = {row["sample_id"]: row for row in read_rows(export)}
    assert {tuple(message) for row in rows.values() for message in row["conversations"]} == {
        ("from", "value", "memory_gate_decision", "candidate_fact")
    }
    question, reply = rows["gate-1"]["conversations"]
    assert (reply["memory_gate_decision"], reply["candidate_fact"]) == ("UPDATE_USER", "likes tea")
    assert question["memory_gate_decision"] == question["candidate_fact"] == ""
    assert all(message["candidate_fact"] == "" for message in rows["sample-2"]["conversations"])


def test_in_a_history_each_reply_has_its_own_decision():
    for number, decision in ((1, "UPDATE_USER"), (2, "NO_WRITE")):
        content = body(number, memoryGate={"output": {"decision": decision, "reason": "r", "candidateFact": "f"}})
        DatasetSample.objects.filter(id=f"sample-{number}").update(content=content)
    [row] = [row for row in read_rows(build_export("sharegpt_reflection")) if row["sample_id"] == "sample-3"]
    decisions = [message["memory_gate_decision"] for message in row["conversations"] if message["from"] == "gpt"]
    assert decisions == ["UPDATE_USER", "NO_WRITE", ""]


# Pairs


@pytest.mark.parametrize("format_", PAIRS)
def test_edited_replies_are_pairs_and_their_question_is_one(format_):
    export = build_export(format_)
    rows = read_rows(export)
    assert [find_answers(row) for row in rows] == [
        ("a better answer 2", "answer 2"),
        ("quite another answer 4", "answer 4"),
    ]
    assert len(rows) == export.manifest["counts"]["rows"]
    assert excluded_samples(export) == {
        "rejected": ["sample-5"],
        "not_approved": ["sample-6"],
        "no_pair": ["sample-1"],
        "same_answer": ["sample-3"],
    }
    for row in rows:
        assert find_prompt(row)[-1].get("role", find_prompt(row)[-1].get("from")) in (
            "user",
            "tool",
            "observation",
            "human",
        )
        assert "answer 2" not in json.dumps(find_prompt(row)).replace("a better answer 2", "")
    assert set(map(tuple, rows)) == {tuple(rows[0])}


@pytest.mark.parametrize("format_", PAIRS)
def test_corrected_decisions_are_pairs(format_):
    store_judged_decisions()
    export = build_export(format_, "gate")
    assert [find_answers(row) for row in read_rows(export)] == [
        (
            "Decision: NO_WRITE\nFact: none\nReason: Said in jest.",
            "Decision: UPDATE_USER\nFact: likes tea\nReason: A preference.",
        )
    ]
    left_out = excluded_samples(export)
    assert (left_out["no_pair"], left_out["decision_incorrect"]) == (["gate-1"], ["gate-3"])
    # Judged before reasons were required: left out unless somebody includes it.
    DatasetSample.objects.filter(id="gate-2").update(gate_corrected_output='{"decision": "NO_WRITE", "reason": " "}')
    with pytest.raises(Refused, match="nobody gave a reason for: see the queue Needs a reason: 1"):
        build_export(format_, "gate", name="two")
    assert len(read_rows(build_export(format_, "gate", name="three", include=("unexplained",)))) == 1


@pytest.mark.parametrize("format_", PAIRS)
def test_writes_that_were_rolled_back_are_pairs_and_the_prompt_is_the_file_before(format_):
    store_judged_writes()
    export = build_export(format_, "guardian")
    [row] = read_rows(export)
    assert find_answers(row) == (
        "Decision: refused\nReason: Said in jest.",
        f"Decision: written\nReason: It lasts.\nFile: USER.md\nContent:\n{NEW}",
    )
    [question] = find_prompt(row)
    assert question.get("content", question.get("value")).endswith(
        f"Fact: likes tea\nFile: USER.md\nCurrent content:\n{OLD}"
    )
    assert excluded_samples(export) == {"no_pair": ["write-1", "write-3"]}


def test_openai_gets_no_keys_of_ours_and_lines_beside_say_where_rows_come_from():
    export = build_export("openai_preference")
    rows = read_rows(export)
    assert {tuple(row) for row in rows} == {("input", "preferred_output", "non_preferred_output")}
    assert {tuple(row["input"]) for row in rows} == {("messages", "tools", "parallel_tool_calls")}
    [file] = exports.folder_of(export).glob("*.train.sources.jsonl")
    sources = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    assert [source["sample_id"] for source in sources] == ["sample-2", "sample-4"]


def test_llamafactory_is_told_that_its_pairs_are_pairs():
    folder = exports.folder_of(build_export("llamafactory_preference"))
    info = orjson.loads((folder / "dataset_info.json").read_bytes())
    [entry] = info.values()
    assert entry["ranking"] is True and entry["formatting"] == "sharegpt"
    assert (entry["columns"]["chosen"], entry["columns"]["rejected"]) == ("chosen", "rejected")
    settings = read_blocks(folder)
    assert yaml.safe_load(settings["LLaMA-Factory", "yaml"])["stage"] == "dpo"
    assert ("Axolotl", "yaml") not in settings


def test_nobody_corrected_anything():
    DatasetSample.objects.update(output=None)
    with pytest.raises(Refused, match="nobody edited or corrected"):
        build_export("preference")


@pytest.mark.parametrize("format_", [*PAIRS, "kto"])
def test_a_row_for_a_whole_session_is_refused(format_):
    with pytest.raises(Refused, match="choose another history"):
        build_export(format_, history="session")


def test_the_history_of_a_pair_may_hold_turns_that_nobody_approved():
    rows = read_rows(build_export("preference", history="context"))
    assert [len(row["prompt"]) for row in rows] == [5, 9]
    assert not any("train" in message for row in rows for message in row["prompt"])


# KTO


def test_kto_has_approved_and_rejected_replies_with_their_labels():
    export = build_export("kto")
    rows = {row["sample_id"]: row for row in read_rows(export)}
    labels = {name: (row["label"], row["completion"][0]["content"]) for name, row in rows.items()}
    assert labels == {
        "sample-1": (True, "answer 1"),
        "sample-2": (True, "a better answer 2"),
        "sample-3": (True, "answer  3\n"),
        "sample-4": (True, "quite another answer 4"),
        "sample-5": (False, "answer 5"),
    }
    assert excluded_samples(export) == {"not_approved": ["sample-6"]}
    assert excluded_samples(build_export("kto", only_approved=False, name="two")) == {"not_approved": ["sample-6"]}


def test_kto_has_wrong_decisions_and_writes_with_the_label_false():
    store_judged_decisions()
    labels = {row["sample_id"]: row["label"] for row in read_rows(build_export("kto", "gate"))}
    assert labels == {"gate-1": True, "gate-2": True, "gate-3": False}


# What every format keeps


@pytest.mark.parametrize("format_", ["messages", "sharegpt_reflection", *PAIRS, "kto"])
def test_no_row_names_a_person_and_all_rows_have_the_same_columns(format_):
    DatasetSample.objects.update(annotated_by="carol", annotation_notes="so carol decided")
    rows = read_rows(build_export(format_))
    assert rows and len(set(map(tuple, rows))) == 1 and "carol" not in json.dumps(rows)
    assert not {path for row in rows for path in list_paths(row) if "annotat" in path.lower()}


@pytest.mark.parametrize("format_", ["messages", "sharegpt_reflection", *PAIRS, "kto"])
def test_one_value_is_one_token_in_a_question_and_all_of_its_answers(format_):
    address = "anna.berg@firma-nord.de"
    question, answer = f"Write to {address}, please.", f"I wrote to {address}."
    store_session(user(question), assistant(answer), session_id="00000000-0000-0000-0000-0000000000ab")
    content = body(1, userMessage=question, agentReply=answer)
    place = {"session_id": "00000000-0000-0000-0000-0000000000ab", "turn_number": 1}
    edited = f"To {address} a letter is on its way."
    SampleFactory(id="private", content=content, output=edited, annotation_status="approved", **place)
    rows = [row for row in read_rows(build_export(format_)) if "please" in json.dumps(row)]
    [text] = map(json.dumps, rows)
    assert address not in text and "[EMAIL_2]" not in text
    assert text.count("[EMAIL_1]") == (3 if format_ in PAIRS else 2)


def test_raw_rows_do_not_say_who_judged_them():
    DatasetSample.objects.update(annotated_by="carol")
    [folder] = [exports.folder_of(build_export("raw"))]
    [file] = folder.glob("*.train.jsonl")
    assert b"carol" not in file.read_bytes() and b"annotatedBy" not in file.read_bytes()


@pytest.mark.parametrize("format_", ["sharegpt", "sharegpt_reflection"])
def test_the_card_teaches_calls_as_calls(format_):
    folder = exports.folder_of(build_export(format_))
    [read] = yaml.safe_load(read_blocks(folder)["Axolotl", "yaml"])["datasets"]
    assert not (folder / read["path"]).exists()
    pasted = "from card_blocks import run_python; run_python('.', 'HF datasets', 'TRL', 'Axolotl')"
    environment = {**os.environ, "PYTHONPATH": str(READERS), "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
    subprocess.run([sys.executable, "-c", pasted], check=True, cwd=folder, env=environment)
    rows = [orjson.loads(line) for line in (folder / read["path"]).read_bytes().splitlines()]
    call, answer = rows[1]["messages"][3:5]
    assert call["tool_calls"] == [{"type": "function", "function": {"name": "read", "arguments": ARGUMENTS}}]
    assert answer == {"role": "tool", "name": "read", "content": "notes"}
    assert json.loads(rows[1]["tools"])[0]["function"]["name"] == "read"


def test_the_card_weighs_good_and_bad_rows_of_kto():
    DatasetSample.objects.filter(id="sample-2").update(annotation_status="rejected")
    export = build_export("kto")
    labels = [row["label"] for row in read_rows(export)]
    text = read_blocks(exports.folder_of(export))["TRL", "python"]
    [weights] = [line for line in text.splitlines() if line.startswith("weights = ")]
    weights = orjson.loads(weights.removeprefix("weights = "))
    assert labels.count(True) and labels.count(False)
    balanced = weights["undesirable_weight"] * labels.count(False)
    assert weights["desirable_weight"] * labels.count(True) == pytest.approx(balanced, rel=0.01)
