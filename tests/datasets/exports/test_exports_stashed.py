"""Exports of turns whose tool outputs are artifacts: the same rows as before, what is lost, what may be secret."""

import orjson
import pytest

from artifacts.models import Artifact
from datasets.exports import exports
from datasets.models import DatasetSample
from ledger.models import Session
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from people.models.bookkeeping import AuditEntry
from tests.datasets.exports.exporting import approve, build, built, left_out
from tests.homes import assistant, result, user
from tests.ledger.outputs.stashing import SECRET, blob, handles, lines
from tests.ledger.talks import tell

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
STASHING = "collector.stashOutputs"


def turns(*outputs):
    """A session with a turn for each of these outputs, and an approved sample of each turn."""
    records = []
    for number, output in enumerate(outputs, start=1):
        call = f"c{number}"
        records += [user(f"question {number}"), assistant("", (call, "exec", {"n": number}))]
        records += [result(call, output), assistant(f"answer {number}")]
    tell(*records)
    approve(len(outputs))


def outputs_in(row):
    return [message["value"] for message in row["conversations"] if message["from"] == "observation"]


def test_it_works():
    output = lines(600, needle="pomegranate 石榴 \U0001f34e")
    turns(output)
    assert len(handles()) == 1
    manifest, rows = built()
    assert outputs_in(rows["sample-1"]) == [output]
    assert manifest["transformations"] == {} and manifest["excluded"] == []


def test_files_are_the_same_with_and_without_stashing():
    several = [
        lines(300),
        "<html><title>石榴</title>" + "<p>x</p>" * 3_000,
        orjson.dumps([1] * 5_000).decode(),
        "short",
    ]
    several += [lines(4_000, needle="too long for a row"), lines(250)]
    files = {}
    for is_on in (False, True):
        configuration.put(STASHING, is_on, by="root")
        Artifact.objects.using("agent_ada").all().delete()
        tell_again(*several)
        assert bool(handles()) == is_on
        export = build("sharegpt", train_split=0.5)
        files[is_on] = {file.name: file.read_bytes() for file in exports.folder_of(export).iterdir()}
    assert files[True] == files[False]


def tell_again(*outputs):
    DatasetSample.objects.all().delete()
    Session.objects.using("agent_ada").filter(id="s1").delete()
    turns(*outputs)


@pytest.mark.parametrize("damage", ["gone", "changed", "unreadable"])
def test_a_lost_output_leaves_its_samples_out(damage):
    turns(lines(300), lines(900, needle="lost"), lines(300), "short")
    file = blob(handles()[1])
    if damage == "unreadable":
        file.unlink()
        file.mkdir()
    else:
        file.unlink() if damage == "gone" else file.write_bytes(b"something else")
    manifest, rows = built(row_characters=100_000)
    assert rows.keys() == {"sample-1", "sample-3", "sample-4"}
    assert left_out(manifest) == {"output_lost": ["sample-2"]}
    assert manifest["counts"]["approved"] == manifest["counts"]["rows"] == 3
    assert [len(outputs_in(rows[f"sample-{number}"])) for number in (1, 3, 4)] == [1, 1, 2]


@pytest.mark.parametrize("history", ["edited", "session", "context"])
def test_outputs_that_may_hold_secrets_leave_their_samples_out(history):
    turns("short", lines(300, secret=SECRET), "short", "last")
    manifest, rows = built(history=history)
    assert left_out(manifest)["output_flagged"] == ["sample-2"]
    if history != "session":
        assert rows.keys() == {"sample-1", "sample-3", "sample-4"}
    assert "api_key" not in orjson.dumps(rows).decode()
    assert not AuditEntry.objects.filter(action="exported_flagged").exists()


def test_which_kinds_count_is_a_setting():
    configuration.put("exports.withheldKinds", ["jwt"], by="root")
    turns(lines(300, secret=SECRET))
    manifest, rows = built()
    assert rows.keys() == {"sample-1"} and manifest["excluded"] == []


def test_an_output_without_a_call_is_in_no_row_and_no_obstacle():
    tell(user("question 1"), assistant("answer 1"), result("nobody", lines(300, secret=SECRET)))
    approve(1)
    manifest, rows = built()
    assert rows.keys() == {"sample-1"}
    assert manifest["transformations"] == {"tool_results_without_call_dropped": 1}


def test_nothing_but_flagged_samples_says_what_to_do():
    turns(lines(300, secret=SECRET))
    with pytest.raises(Refused, match="An admin can include"):
        built()


def test_formats_without_outputs_have_nothing_to_leave_out():
    turns(lines(300, secret=SECRET))
    assert built("alpaca")[0]["counts"]["rows"] == 1
