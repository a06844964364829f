"""Judged sets of other tools become samples: formats, wrong rows, twice, redaction, page, API and command."""

import io

import orjson
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from hypothesis import given
from hypothesis import strategies as st

from datasets.imported_sets.rows import FORMATS, WrongRow
from datasets.imported_sets.service import import_set
from datasets.models import DatasetSample, SampleLabel
from openclaw_web.errors import Refused
from people.models.bookkeeping import AuditEntry
from tests.datasets.verbs.verb_runs import read_receipt, read_refusal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
QUESTION, REPLY, BETTER = "Where does the night ferry stop?", "At pier nine.", "At pier nine, and then at the old mill."
KEY = "sk-proj-Zx81Kq0TtLw7Yv3Nn5Bb2Hh4Jj6Mm8Pp0Rr1Ss3T"
CALLING = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": QUESTION},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"mail": "mei@ferry.dev"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "pier 9"},
    {"role": "assistant", "content": REPLY},
    {"role": "user", "content": "Thank you very much for it"},
    {"role": "assistant", "content": "You are welcome aboard."},
]
CHAT = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": REPLY}]
GOOD = {  # format: row, and of its last sample: status, output, notes
    "messages": ({"messages": CALLING}, "pending", None, None),
    "sharegpt": (
        {
            "system": "Be brief.",
            "conversations": [
                {"from": "human", "value": QUESTION},
                {"from": "function_call", "value": '{"name": "look", "arguments": {}}'},
                {"from": "observation", "value": "pier 9"},
                {"from": "gpt", "value": REPLY},
            ],
        },
        *("pending", None, None),
    ),
    "alpaca": (
        {"instruction": "Answer.", "input": QUESTION, "output": REPLY, "history": [["Hello there", "Hi"]]},
        *("pending", None, None),
    ),
    "preference": ({"prompt": QUESTION, "chosen": BETTER, "rejected": REPLY}, "approved", BETTER, None),
    "argilla": (
        {
            "fields": {"instruction": QUESTION, "response": REPLY},
            "responses": {
                "rating": [{"value": "Reject", "user_id": "mara-1"}],
                "better": [{"value": BETTER, "user_id": "mara-1"}],
            },
        },
        *("rejected", BETTER, "mara-1"),
    ),
    "label-studio": (
        {
            "data": {"dialogue": CHAT},
            "annotations": [
                {"was_cancelled": True, "result": [{"type": "choices", "value": {"choices": ["bad"]}}]},
                {
                    "was_cancelled": False,
                    "completed_by": 7,
                    "result": [
                        {"type": "choices", "value": {"choices": ["good"]}},
                        {"type": "textarea", "value": {"text": [BETTER]}},
                    ],
                },
            ],
        },
        *("approved", BETTER, "7"),
    ),
}
WRONG = {
    "messages": (
        ({"messages": [{"role": "narrator", "content": "x"}]}, "The role “narrator” is not known."),
        ({"messages": [*CHAT, {"role": "tool", "content": "x"}]}, "A result of a tool has no call."),
        ({"messages": CHAT[:1]}, "A message of the user has no reply."),
        ({"messages": CHAT[1:]}, "It does not begin with a message of the user."),
        ({"messages": [*CHAT, CALLING[0]]}, "A message of the system stands after others."),
        ({"messages": [CHAT[0], CHAT[0], CHAT[1]]}, "follows one that has no reply."),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}, CHAT[1]]}, "content that is no text."),
        ({"instruction": QUESTION, "output": REPLY}, "It has no list of messages"),
        ([1], "It is no JSON object."),
        (
            {"messages": [CHAT[0], *[CALLING[2] | {"tool_calls": CALLING[2]["tool_calls"] * 2_001}], CHAT[1]]},
            "More than 2,000 calls of tools have no result.",
        ),
    ),
    "alpaca": (({"messages": CHAT}, "It has no text “instruction”."),),
    "preference": (
        ({"chosen": CHAT, "rejected": [{"role": "user", "content": "Other"}, CHAT[1]]}, "not two answers"),
        ({"prompt": QUESTION, "chosen": REPLY}, "not two answers"),
    ),
    "argilla": (({"fields": {"colour": "red"}}, "a question with its reply is in its fields: colour."),),
}  # fmt: skip


def write(*rows):
    return b"\n".join(orjson.dumps(row) for row in rows)


def load(row_format, *rows, name="others"):
    return import_set(io.BytesIO(write(*rows)), name=name, row_format=row_format, by="ann")


@pytest.mark.parametrize("row_format", FORMATS)
def test_a_row_of_each_format(row_format):
    row, status, output, notes = GOOD[row_format]
    first = load(row_format, row)
    sample = DatasetSample.objects.order_by("turn_number").last()
    assert (sample.annotation_status, sample.output, sample.annotation_notes) == (status, output, notes)
    assert sample.agent_id == "set:others" and sample.privacy_checked
    assert QUESTION in DatasetSample.objects.get(turn_number=2 if row_format == "alpaca" else 1).body["userMessage"]
    again = load(row_format, row)
    assert (again.new, again.known) == (0, first.new) and DatasetSample.objects.count() == first.new
    assert load(row_format, row, name="more").new == first.new  # another origin
    assert not SampleLabel.objects.exists()  # no verdict of a person here


@pytest.mark.parametrize(
    ("row_format", "row", "sentence"), [(name, *wrong) for name, rows in WRONG.items() for wrong in rows]
)
def test_a_wrong_row_is_named_and_nothing_is_stored(row_format, row, sentence):
    with pytest.raises(Refused) as refused:
        load(row_format, GOOD[row_format][0], row)
    assert "Nothing was imported. Row 2: " in refused.value.sentence and sentence in refused.value.sentence
    assert not DatasetSample.objects.exists()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "The file has no rows."),
        (b'{"messages": ', "Row 1: It is no JSON object."),
        (b"[1, ", "Row 1: It is no JSON object."),
        (b'{"a": "' + b"x" * 8_000_001 + b'"}', "Line 1 is longer than 8 MB."),
        (b"PAR1 and no more", "The file is no whole Parquet file."),
    ],
)
def test_a_file_that_cannot_be_read(data, sentence):
    with pytest.raises(Refused, match=sentence):
        import_set(io.BytesIO(data), name="others", row_format="messages", by="ann")


def test_an_array_and_parquet_are_read_as_lines_are():
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist([{"messages": CHAT}]), file)
    for data in (orjson.dumps([{"messages": CHAT}]), file.getvalue()):
        import_set(io.BytesIO(data), name="others", row_format="messages", by="ann")
    assert DatasetSample.objects.count() == 1


def test_exports_have_its_calls_without_secrets_and_say_who_judged(tmp_path):
    load(
        "messages", {"messages": CALLING}, {"messages": [CHAT[0], {"role": "assistant", "content": f"Use {KEY} then."}]}
    )
    load("preference", GOOD["preference"][0])
    DatasetSample.objects.filter(annotation_status="pending").update(annotation_status="approved")
    options = ("--train-split", 1, "--quiet")
    receipt = read_receipt("export", "--format", "messages", "-o", tmp_path / "rows.jsonl", *options)
    data = (tmp_path / "rows.jsonl").read_text()
    assert KEY not in data and "mei@ferry.dev" not in data
    assert '"name":"look","arguments":{"mail":"[EMAIL_1]"}' in data and BETTER in data and REPLY in data
    counts = receipt["manifest"]["counts"]
    assert counts["judged_by_set"] == counts["samples"] == 3 and counts["judged_by_person"] == 0
    pairs = read_receipt("export", "--format", "preference", "-o", tmp_path / "pairs.jsonl", *options)
    assert pairs["manifest"]["counts"]["rows"] == 1


def test_the_page_and_the_command_do_the_same(as_operator, tmp_path):
    upload = SimpleUploadedFile("set.jsonl", write({"messages": CHAT}))
    fields = {"name": "others", "format": "messages", "file": upload}
    assert "Import a set" in as_operator.get("/samples/import/").text
    page = as_operator.post("/samples/import/add/", fields)
    assert "1 row: 1 sample created" in page.text and "/samples/?agent=set:others" in page.text
    listed = as_operator.get("/samples/?agent=set:others").text
    assert QUESTION in listed
    assert REPLY in as_operator.get(f"/samples/{DatasetSample.objects.get().id}/").text
    upload.seek(0)
    refused = as_operator.post("/samples/import/add/", fields | {"name": "No Name", "file": upload})
    assert refused.status_code == 422 and "lower-case letters" in refused.text
    path = tmp_path / "set.jsonl"
    path.write_bytes(write({"messages": CHAT}))
    assert read_receipt("import", path, "--format", "messages", "--name", "others")["import"]["known"] == 1
    assert "cannot be read" in read_refusal("import", tmp_path / "none", "--format", "messages", "--name", "others")
    assert [entry.actor for entry in AuditEntry.objects.filter(action="set_imported")] == ["otto", "command line"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["user", "assistant", "tool"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["messages", "role", "from", "content", "value", "tool_calls", "function", "name", "fields"]
            )
            | st.sampled_from(
                ["arguments", "prompt", "chosen", "rejected", "responses", "data", "annotations", "result"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


CHATS = ["messages", "conversations", "history", "prompt", "chosen", "rejected"]
COLUMNS = [*CHATS, "instruction", "input", "output", "system", "fields", "responses", "data", "annotations"]


@given(st.sampled_from(sorted(FORMATS)), st.dictionaries(st.sampled_from(COLUMNS), JSON, max_size=5))
def test_a_row_of_any_shape_is_a_conversation_or_refused(row_format, row):
    try:
        conversation = FORMATS[row_format](row)
    except WrongRow as wrong:
        assert wrong.args[0]
    else:
        assert all(turn[0].text and turn[-1].text for turn in conversation.turns)
