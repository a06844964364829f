"""Replies that rest on tool results: Alpaca rows, and the marks of failed tools."""

import orjson
import pytest

from datasets.exports import exports, options
from datasets.models import DatasetExport, DatasetSample, SampleExchange
from datasets.services import make_samples
from ledger.models import Session
from openclaw_web.errors import Refused
from tests.datasets.exports.export_helpers import build_and_read, excluded_samples, make_export
from tests.homes import assistant, result, user
from tests.ledger.outputs.stored_outputs import find_blob_file, list_handles, make_output
from tests.ledger.transcript_records import store_session

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
PICTURE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
ENVELOPE = 'Sender (untrusted metadata):\n```json\n{"label": "Ann"}\n```\n\n'


@pytest.fixture
def samples(ada):
    """A function that stores a session and returns its approved samples by turn.

    The session has every way in which a reply may rest on tools, or not.
    """

    def store_samples(*more):
        call = ("c", "exec", {"command": "df -h"})
        store_session(
            *(user("Hello"), assistant("Hi.")),
            *(user("How full?"), assistant("", call), result("c", "80 %"), assistant("It is 80 % full.")),
            *(user("Look again"), assistant("I will.", call), result("c", "81 %")),  # said before the tool answered
            *(user("Both"), assistant("", ("a", "read", {"path": "导.md"}), ("b", "exec", {})), result("b", "B")),
            *(result("a", "A"), assistant("Done.")),
            *(user("Thanks"), assistant("", call), assistant("Never mind.")),  # a call nobody answered
            *more,
        )
        make_samples(ada, "s1", None, by="ann", include_excluded=True)
        DatasetSample.objects.update(annotation_status="approved")
        return {sample.turn_number: sample for sample in DatasetSample.objects.all()}

    return store_samples


def build_by_turn(format_="alpaca", **choices):
    """The manifest of a built export, and its rows by turn."""
    manifest, rows = build_and_read(format_, **{"include": ["interrupted", "pictures"]} | choices)
    return manifest, {int(row["turn_number"]): row for row in rows.values()}


def test_it_works(samples):
    known = samples()
    manifest, rows = build_by_turn()
    assert rows.keys() == {1, 3, 5} and {row["input"] for row in rows.values()} == {""}
    assert sorted(excluded_samples(manifest)["rests_on_tools"]) == sorted([known[2].id, known[4].id])
    assert manifest["options"]["tool_calls"] == "keep" and manifest["transformations"] == {}


def test_results_can_be_the_input(samples):
    samples()
    manifest, rows = build_by_turn(tool_calls="input")
    assert rows.keys() == {1, 2, 3, 4, 5} and manifest["excluded"] == []
    assert rows[2]["input"] == 'Tool: exec\nArguments: {"command":"df -h"}\nResult:\n80 %'
    assert rows[4]["input"] == (
        'Tool: read\nArguments: {"path":"导.md"}\nResult:\nA\n\nTool: exec\nArguments: {}\nResult:\nB'
    )
    assert [rows[number]["input"] for number in (1, 3, 5)] == [""] * 3
    assert manifest["transformations"] == {"tool_results_in_input": 2}


def test_what_the_input_does_not_hold_is_said(samples):
    samples(
        user("More"), assistant("Let me look.", ("d", "read", {})), result("d"), assistant("One."), assistant("Two.")
    )
    manifest, rows = build_by_turn(tool_calls="input")
    assert "Let me look" not in rows[6]["input"] and rows[6]["output"] == "Two."
    names = ("text_before_tool_call_dropped", "text_before_reply_dropped")
    assert [manifest["transformations"][name] for name in names] == [1, 1]


def test_traits_are_stored_with_samples(samples):
    question = user(f"{ENVELOPE}What is this?")
    question["message"]["content"].append(PICTURE)
    known = samples(question, assistant("A cat."))
    traits = {1: "", 2: "tools", 3: "", 4: "tools", 5: "", 6: "envelope images"}
    assert {number: sample.turn_traits for number, sample in known.items()} == traits


def test_what_stood_around_words_and_pictures_is_counted(samples):
    question = user(f"{ENVELOPE}What is this?")
    question["message"]["content"].append(PICTURE)
    samples(question, assistant("A cat."))
    for format_ in ("alpaca", "sharegpt"):
        manifest, rows = build_by_turn(format_)
        assert "Ann" not in orjson.dumps(rows[6]).decode() and "What is this?" in orjson.dumps(rows[6]).decode()
        done = manifest["transformations"]
        assert (done["envelope_removed"], done["images_dropped"]) == (1, 1)


def test_long_results_are_cut_to_an_equal_share(samples, monkeypatch):
    monkeypatch.setattr(options, "ROW_CHARACTERS", 1_000)
    samples(user("More"), assistant("", ("d", "read", {})), result("d", "x" * 5_000), assistant("Read."))
    manifest, rows = build_by_turn(tool_calls="input")
    row = rows[6]
    assert len(row["instruction"] + row["input"] + row["output"]) <= 1_000
    assert row["input"].endswith("characters left out …]")
    assert manifest["transformations"]["tool_results_shortened"] == 1


def test_a_failed_tool_is_marked(samples):
    failed = (assistant("", ("d", "read", {})), result("d", "ENOENT", isError=True), assistant("No such file."))
    by_exit = (
        assistant("", ("e", "exec", {})),
        result("e", "", details={"exitCode": 3}),
        assistant("It exits with 3."),
    )
    samples(user("Read it"), *failed, user("Run it"), *by_exit)
    manifest, rows = build_by_turn("sharegpt")
    assert [message["value"] for message in rows[6]["conversations"]][-2] == "[error] ENOENT"
    assert [message["value"] for message in rows[7]["conversations"]][-2] == "[error]"
    assert manifest["transformations"]["tool_errors_marked"] == 2
    manifest, rows = build_by_turn(tool_calls="input")
    assert rows[6]["input"].endswith("Result:\n[error] ENOENT") and rows[7]["input"].endswith("Result:\n[error]")
    assert manifest["transformations"]["tool_errors_marked"] == 2


def test_a_turn_that_is_gone_is_used_by_what_is_known_of_it(samples):
    known = samples()
    SampleExchange.objects.all().delete()
    Session.objects.using("agent_ada").all().delete()
    manifest, rows = build_by_turn()
    assert rows.keys() == {1, 3, 5} and manifest["transformations"] == {}
    for format_, choices in (("alpaca", {"tool_calls": "input"}), ("sharegpt", {})):
        manifest, rows = build_by_turn(format_, **choices)
        assert rows.keys() == {1, 3, 5}
        assert sorted(excluded_samples(manifest)["rests_on_tools"]) == sorted([known[2].id, known[4].id])
    DatasetSample.objects.update(turn_traits="gone")
    manifest, rows = build_by_turn()
    assert rows.keys() == {1, 2, 3, 4, 5} and manifest["transformations"] == {"tools_unknown": 5}


@pytest.mark.parametrize(("damage", "reason"), [(True, "output_lost"), (False, "open_findings")])
def test_outputs_that_are_lost_or_secret_are_not_folded(samples, damage, reason):
    output = make_output(900, needle="lost") if damage else make_output(300, secret="ghp_" + "a1B2c3D4e5F6" * 3)
    known = samples(user("More"), assistant("", ("d", "read", {})), result("d", output), assistant("Read."))
    if damage:
        find_blob_file(list_handles()[0]).unlink()
    manifest, rows = build_by_turn(tool_calls="input")
    assert 6 not in rows and excluded_samples(manifest) == {reason: [known[6].id]}


def test_the_page_says_and_offers_it(samples, as_admin):
    known = samples()
    export = make_export(as_admin)
    page = as_admin.get(export.get_absolute_url()).text
    assert "With a reply that rests on tool results" in page and f"/samples/{known[2].id}/" in page
    assert "<dd>Left out, with the turns whose reply rests on them</dd>" in page and "tool_calls=keep" in page
    DatasetExport.objects.all().delete()
    page = as_admin.get(make_export(as_admin, tool_calls="input").get_absolute_url()).text
    assert "Exported with the tool calls and results as input" in page
    assert "Tool calls and results written into the input" in page


def test_an_export_of_nothing_else_says_what_to_do(samples):
    samples()
    DatasetSample.objects.exclude(turn_number=2).delete()
    with pytest.raises(Refused, match="Include tool calls or results"):
        exports.check_request("one", "alpaca", "reply")
