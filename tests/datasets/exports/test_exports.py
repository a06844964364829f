"""Requests and builds of exports: folders, refusals and interrupted builds."""

import hashlib
import os
import tomllib
from pathlib import Path

import orjson
import pytest
from ulid import ULID

from datasets.dedup import signatures
from datasets.exports import exports
from datasets.exports.source import PlainRows
from datasets.models import DatasetExport, DatasetSample
from findings import scan
from openclaw_web.errors import Refused
from tests.datasets.conversations import agent, store_session, store_turns, user
from tests.datasets.exports.branches import Steps, body
from tests.datasets.exports.export_helpers import build_export, read_rows
from tests.factories import AgentFactory, SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
APPROVED = "approved"


def add_samples(count, *, session="s1", status=APPROVED, first=1, **columns):
    """Add samples of the turns of a session.

    The questions of other sessions differ from those of `s1`.
    """
    for number in range(first, first + count):
        message = {} if session == "s1" else {"userMessage": f"question {number} of {session}"}
        own = {"id": f"{session}-{number}", "content": body(number, **message)}
        SampleFactory(session_id=session, turn_number=number, annotation_status=status, **own | columns)


def build_refused(format_="alpaca", task="reply", **choices):
    """Request an export that cannot be built; return its row after checking its reasons."""
    export = exports.create_export("one", format_, task, by="root", **choices)
    with pytest.raises(Refused) as caught:
        exports.build_export(export.id, Steps())
    export.refresh_from_db()
    assert export.state == "refused"
    assert export.sentence == caught.value.sentence
    assert orjson.loads(export.reasons_json) == caught.value.reasons
    assert not list(exports.folder_of(export).parent.iterdir()), "nothing may be left on the disk"
    return export


def in_batches_of_three(monkeypatch):
    for name in ("FIRST", "BIGGEST", "SMALLEST"):
        monkeypatch.setattr(PlainRows, name, 3)


def contents(export):
    return {file.name: file.read_bytes() for file in exports.folder_of(export).iterdir()}


def test_it_works(own_home):
    add_samples(3)
    export = build_export()
    assert (export.state, export.total_samples, export.approved_samples, export.rejected_samples) == ("ready", 3, 3, 0)
    assert [row["output"] for row in read_rows(export)] == ["answer 1", "answer 2", "answer 3"]
    assert sorted(contents(export)) == [
        *("README.md", "SHA256SUMS", "dataset_info.json", "manifest.json", "ocl_one_alpaca.train.jsonl"),
    ]
    assert export.file_path == f"exports/{export.id}"
    assert oct((own_home / export.file_path).stat().st_mode & 0o777) == "0o700"


def test_a_conversation_comes_from_the_transcript():
    store_turns(3)
    add_samples(2, first=2)
    first, second = read_rows(build_export("sharegpt"))
    assert [message["value"] for message in first["conversations"]] == ["question 2", "answer 2"]
    assert [message["value"] for message in second["conversations"]] == [
        "question 2",
        "answer 2",
        "question 3",
        "answer 3",
    ]


def test_a_transcript_that_is_gone_is_no_obstacle():
    add_samples(1)
    SampleFactory(id="left", agent_id="nobody", annotation_status=APPROVED)
    export = build_export("sharegpt")
    assert export.total_samples == 2
    assert export.manifest["transformations"] == {"rebuilt_from_the_sample": 2}


def test_a_turn_off_the_branch_is_rebuilt():
    store_session(
        [user("u1", "question 1"), agent("a1", "answer 1"), user("u2", "left"), user("u3", "taken", after="a1")]
    )
    add_samples(1, first=2)
    (row,) = read_rows(build_export("sharegpt"))
    assert [message["value"] for message in row["conversations"]] == ["question 2", "answer 2"]


# Choice of samples


def test_only_approved_samples_and_approved_by_rule_counts():
    add_samples(1)
    add_samples(1, session="s2", status="auto_approved")
    add_samples(1, session="s3", status="pending")
    add_samples(2, session="s4", status="rejected")
    export = build_export()
    assert {row["sample_id"] for row in read_rows(export)} == {"s1-1", "s2-1"}
    assert export.rejected_samples == 2
    assert export.manifest["excluded"] == [
        {"reason": "rejected", "count": 2, "samples": ["s4-1", "s4-2"]},
        {"reason": "not_approved", "count": 1, "samples": ["s3-1"]},
    ]


def test_all_means_all_but_rejected():
    add_samples(1)
    add_samples(1, session="s2", status="pending")
    add_samples(1, session="s3", status="needs_review")
    add_samples(1, session="s4", status="rejected")
    export = build_export(only_approved=False)
    assert (export.total_samples, export.approved_samples, export.rejected_samples) == (3, 1, 1)


def test_agent_type_and_quality_narrow_it():
    AgentFactory(agent_id="bob")
    add_samples(1, quality_score=0.9)
    add_samples(1, session="s2", quality_score=0.5)
    add_samples(1, session="s3")
    add_samples(1, session="s4", agent_id="bob", quality_score=0.7)
    add_samples(1, session="s5", sample_type="memory_gate_positive")
    assert build_export(agent="bob").total_samples == 1
    export = build_export(min_quality=0.6)
    assert (export.total_samples, export.avg_quality_score) == (2, 0.8)
    both = build_export(sample_types=["annotated_turn", "memory_gate_positive"])
    assert [exclusion["reason"] for exclusion in both.manifest["excluded"]] == ["not_a_turn"]


def test_samples_without_a_decision_are_left_out_of_the_gate_and_named():
    decided = {"memoryGate": {"output": {"decision": "UPDATE_USER", "reason": "r", "candidateFact": "f"}}}
    add_samples(1, content=body(1, **decided))
    add_samples(2, session="s2")
    export = build_export(task="gate")
    assert [row["output"] for row in read_rows(export)] == ["Decision: UPDATE_USER\nFact: f\nReason: r"]
    assert export.manifest["excluded"] == [{"reason": "no_decision", "count": 2, "samples": ["s2-1", "s2-2"]}]


def test_batches_lose_and_double_nothing(monkeypatch):
    in_batches_of_three(monkeypatch)
    for session in ("s1", "s2", "s3"):
        add_samples(7, session=session)
    for name in ("x", "y", "z"):  # several samples of one turn
        add_samples(1, session="s2", first=4, id=f"extra-{name}", content=body(4, agentReply=f"answer {name}"))
    export = build_export()
    ids = [row["sample_id"] for row in read_rows(export)]
    assert len(ids) == len(set(ids)) == 24
    places = [(row["session_id"], int(row["turn_number"]), row["sample_id"]) for row in read_rows(export)]
    assert places == sorted(places)


def test_sessions_are_read_together_and_keep_to_themselves(monkeypatch):
    in_batches_of_three(monkeypatch)
    monkeypatch.setattr("datasets.exports.branches.GROUP_SESSIONS", 4)
    monkeypatch.setattr("datasets.exports.branches.GROUP_SAMPLES", 2)
    AgentFactory(agent_id="bob")
    for number in range(10):
        if number % 3:  # the others have no transcript (any more)
            store_turns(1, "" if number == 1 else f" of s{number}", session_id=f"s{number}")
        add_samples(1, session=f"s{number}")
    store_turns(7, " of s9-long", session_id="s9-long")
    store_turns(7, " of s5", session_id="s5", db="agent_bob")
    add_samples(5, session="s9-long", first=3)
    add_samples(1, session="s5", first=7, agent_id="bob", id="of-bob")
    export = build_export("sharegpt")
    rows = read_rows(export)
    texts = {row["sample_id"]: [message["value"] for message in row["conversations"]] for row in rows}
    assert len(texts) == 16
    assert len(texts["s9-long-6"]) == 8 and len(texts["s9-long-7"]) == 10 and len(texts["of-bob"]) == 2
    assert texts["s1-1"] == ["question 1", "answer 1"]
    assert all(texts[f"s{number}-1"] == [f"question 1 of s{number}", "answer 1"] for number in range(10) if number != 1)
    done = {"history_begins_after_turn_not_approved": 6, "rebuilt_from_the_sample": 4}
    assert export.manifest["transformations"] == done


# The split


def test_an_empty_side_is_left_out_and_said():
    add_samples(2)
    export = build_export(train_split=0)
    assert sorted(contents(export)) == [
        *("README.md", "SHA256SUMS", "dataset_info.json", "manifest.json", "ocl_one_alpaca.test.jsonl"),
    ]
    assert export.manifest["empty_sides"] == ["train"]
    assert list(orjson.loads(contents(export)["dataset_info.json"])) == ["ocl_one_alpaca_test"]


# Content of the folder


def test_the_manifest_knows_every_file():
    for number in range(20):
        add_samples(1, session=f"s{number}")
    export = build_export("sharegpt", train_split=0.5, seed="7")
    files = contents(export)
    manifest = orjson.loads(files["manifest.json"])
    assert manifest == export.manifest
    assert export.checksum == hashlib.sha256(files["manifest.json"]).hexdigest()
    assert export.file_size_bytes == sum(map(len, files.values()))
    for file in manifest["files"]:
        data = files.pop(file["name"])
        assert (file["bytes"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert file.get("rows", 0) == (data.count(b"\n") if file["name"].endswith("jsonl") else 0)
    assert sorted(files) == ["SHA256SUMS", "manifest.json"]
    assert (manifest["format"], manifest["task"], manifest["profile"]) == ("sharegpt", "reply", "strict")
    assert manifest["options"]["seed"] == "7"
    assert manifest["counts"]["train"] + manifest["counts"]["test"] == manifest["counts"]["rows"] == 20


def test_the_manifest_names_the_version_of_the_project():
    add_samples(1)
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    app = build_export().manifest["app"]
    assert app == {"name": project["name"], "version": project["version"]}


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt"])
def test_dataset_info_lists_every_column_that_a_trainer_reads(format_):
    for number in range(20):
        add_samples(1, session=f"s{number}")
    export = build_export(format_, train_split=0.5)
    info = orjson.loads(contents(export)["dataset_info.json"])
    files = {f"ocl_one_{format_}.train.jsonl", f"ocl_one_{format_}.test.jsonl"}
    assert {entry["file_name"] for entry in info.values()} == files
    for entry in info.values():
        assert set(entry["columns"].values()) <= set(read_rows(export)[0])
    columns = {"prompt", "query", "response"} if format_ == "alpaca" else {"messages", "system", "tools"}
    assert set(info[f"ocl_one_{format_}"]["columns"]) == columns


# Refusals


def test_nothing_approved_is_refused_with_advice():
    add_samples(3, status="pending")
    export = build_refused()
    assert "Not approved yet: 3" in export.sentence and "Approve some samples" in export.sentence
    reasons = orjson.loads(export.reasons_json)
    assert [reason["id"] for reason in reasons] == list(DatasetSample.objects.values_list("id", flat=True))
    assert {reason["reason"] for reason in reasons} == {"Not approved yet"}


def test_no_samples_at_all_is_refused():
    assert "create samples from turns of a session" in build_refused().sentence


def test_a_row_that_breaks_a_rule_stops_the_export_and_is_named():
    add_samples(3)
    add_samples(1, session="s2", content=body(1, agentReply=" "))
    add_samples(1, session="s3", content="not json")
    export = build_refused()
    assert export.sentence.startswith("2 rows break a rule")
    assert [reason["id"] for reason in orjson.loads(export.reasons_json)] == ["s2-1", "s3-1"]
    assert "(output)" in orjson.loads(export.reasons_json)[0]["reason"]


def test_the_list_of_reasons_is_bounded_and_the_sentence_counts_all():
    for number in range(250):
        add_samples(1, first=number, content=body(number, agentReply=""))
    export = build_refused("sharegpt")
    assert len(orjson.loads(export.reasons_json)) == 200
    assert export.sentence.startswith("250 rows break a rule")


def test_a_column_of_dates_is_refused():
    add_samples(3, content=body(1, agentReply="2026-01-31"))
    export = build_refused()
    (reason,) = orjson.loads(export.reasons_json)
    assert reason["id"] == "ocl_one_alpaca.train.jsonl" and "column output looks like a date" in reason["reason"]


# Running it again


def test_a_built_export_is_not_built_again():
    add_samples(1)
    export = build_export()
    before = contents(export)
    DatasetSample.objects.update(output="changed")
    exports.build_export(export.id, Steps())
    assert contents(export) == before


def test_a_folder_that_is_complete_is_taken_when_only_the_row_is_behind():
    add_samples(1)
    export = build_export()
    checksum = export.checksum
    DatasetExport.objects.update(state="running", manifest_json=None, checksum=None)
    exports.build_export(export.id, Steps())
    export.refresh_from_db()
    assert (export.state, export.checksum) == ("ready", checksum)


def test_what_a_dead_build_left_is_cleared_away(own_home):
    add_samples(1)
    export = exports.create_export("one", "alpaca", "reply", by="root")
    draft = own_home / "exports" / f".{export.id}.{ULID()}"
    draft.mkdir(parents=True)
    (draft / "ocl_one_alpaca.train.jsonl").write_text("half a row")
    exports.build_export(export.id, Steps())
    assert [folder.name for folder in (own_home / "exports").iterdir()] == [export.id]


def test_a_bug_leaves_a_failed_export_and_no_files(own_home, monkeypatch):
    add_samples(1)
    monkeypatch.setattr(os, "fsync", None)
    export = exports.create_export("one", "alpaca", "reply", by="root")
    with pytest.raises(TypeError):
        exports.build_export(export.id, Steps())
    export.refresh_from_db()
    assert export.state == "failed" and "unexpected error" in export.sentence
    assert not list((own_home / "exports").iterdir())


def test_progress_goes_from_nothing_to_everything():
    add_samples(250)
    export = exports.create_export("one", "alpaca", "reply", by="root")
    steps = Steps()
    exports.build_export(export.id, steps)
    assert steps[0] == (0, 250, "Comparing samples: 100 so far")
    assert (0, 250, "Writing rows") in steps
    assert [done for done, _, _ in steps] == sorted(done for done, _, _ in steps)
    assert steps[-1][0] == steps[-1][1] == 250


def test_the_number_of_queries_does_not_grow_with_the_samples(django_assert_max_num_queries):
    store_turns(40)
    for count in (2, 38):
        add_samples(count, first=1 if count == 2 else 3)
        export = exports.create_export("one", "sharegpt", "reply", by="root")
        signatures.renew(DatasetSample.objects.values_list("id", flat=True))
        scan.scan_agent("agent_ada")
        with django_assert_max_num_queries(25), django_assert_max_num_queries(42, using="agent_ada"):
            exports.build_export(export.id, Steps())
