"""Exports of turns whose tool outputs are stored as artifacts.

Their rows are as without artifacts; turns with lost outputs and open keys are left out.
"""

import orjson
import pytest

from artifacts.models import Artifact
from datasets.exports import exports, options
from datasets.models import DatasetSample
from ledger.models import Session
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry
from tests.datasets.exports.export_helpers import add_approved_samples, build_and_read, build_export, excluded_samples
from tests.homes import assistant, result, user
from tests.ledger.outputs.stored_outputs import find_blob_file, list_handles, make_output
from tests.ledger.transcript_records import store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
STASHING = "collector.stashOutputs"
KEY = "ghp_" + "a1B2c3D4e5F6" * 3


def turns(*outputs):
    """Store a session with a turn for each output, and an approved sample of each turn."""
    records = []
    for number, output in enumerate(outputs, start=1):
        call = f"c{number}"
        records += [user(f"question {number}"), assistant("", (call, "exec", {"n": number}))]
        records += [result(call, output), assistant(f"answer {number}")]
    store_session(*records)
    add_approved_samples(len(outputs))


def outputs_in(row):
    return [message["value"] for message in row["conversations"] if message["from"] == "observation"]


def test_it_works():
    output = make_output(600, needle="pomegranate 石榴 \U0001f34e")
    turns(output)
    assert len(list_handles()) == 1
    manifest, rows = build_and_read()
    assert outputs_in(rows["sample-1"]) == [output]
    assert manifest["transformations"] == {} and manifest["excluded"] == []


def test_files_are_the_same_with_and_without_stashing():
    several = [
        make_output(300),
        "<html><title>石榴</title>" + "<p>x</p>" * 3_000,
        orjson.dumps([1] * 5_000).decode(),
        "short",
    ]
    several += [make_output(4_000, needle="too long for a row"), make_output(250)]
    files = {}
    for is_on in (False, True):
        configuration.put(STASHING, is_on, by="root")
        Artifact.objects.using("agent_ada").all().delete()
        store_again(*several)
        assert bool(list_handles()) == is_on
        export = build_export("sharegpt", train_split=0.5)
        files[is_on] = {file.name: file.read_bytes() for file in exports.folder_of(export).iterdir()}
    assert files[True] == files[False]


def store_again(*outputs):
    DatasetSample.objects.all().delete()
    Session.objects.using("agent_ada").filter(id="s1").delete()
    turns(*outputs)


@pytest.mark.parametrize("damage", ["gone", "changed", "unreadable"])
def test_a_lost_output_leaves_its_samples_out(damage, monkeypatch):
    monkeypatch.setattr(options, "ROW_CHARACTERS", 100_000)
    turns(make_output(300), make_output(900, needle="lost"), make_output(300), "short")
    file = find_blob_file(list_handles()[1])
    if damage == "unreadable":
        file.unlink()
        file.mkdir()
    else:
        file.unlink() if damage == "gone" else file.write_bytes(b"something else")
    manifest, rows = build_and_read()
    assert rows.keys() == {"sample-1", "sample-3", "sample-4"}
    assert excluded_samples(manifest) == {"output_lost": ["sample-2"]}
    assert manifest["counts"]["approved"] == manifest["counts"]["rows"] == 3
    assert [len(outputs_in(rows[f"sample-{number}"])) for number in (1, 3, 4)] == [1, 1, 2]


@pytest.mark.parametrize("history", ["edited", "session", "context"])
def test_outputs_with_open_keys_leave_their_samples_out(history):
    turns("short", make_output(300, secret=KEY), "short", "last")
    manifest, rows = build_and_read(history=history)
    assert excluded_samples(manifest)["open_findings"] == ["sample-2"]
    if history != "session":
        assert rows.keys() == {"sample-1", "sample-3", "sample-4"}
    assert KEY not in orjson.dumps(rows).decode()
    assert not AuditEntry.objects.filter(action="exported_flagged").exists()


def test_words_of_an_output_keep_no_row_back():
    turns(make_output(300, secret="the password is in the vault, the token too"))
    manifest, rows = build_and_read()
    assert rows.keys() == {"sample-1"} and manifest["excluded"] == []


def test_an_output_without_a_call_is_in_no_row_and_no_obstacle():
    store_session(user("question 1"), assistant("answer 1"), result("nobody", make_output(300, secret=KEY)))
    add_approved_samples(1)
    manifest, rows = build_and_read()
    assert rows.keys() == {"sample-1"}
    assert manifest["transformations"] == {"tool_results_without_call_dropped": 1}


def test_nothing_but_open_keys_says_what_to_do():
    turns(make_output(300, secret=KEY))
    with pytest.raises(Refused, match="on the page Findings"):
        build_and_read()


def test_formats_without_outputs_have_nothing_to_leave_out():
    turns(make_output(300, secret=KEY))
    assert build_and_read("alpaca")[0]["counts"]["rows"] == 1
