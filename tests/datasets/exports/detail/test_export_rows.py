"""The rows of a ready export on its page: ten, or any by number.

Rows are read from the file as it is now, and their texts are shown safely.
"""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.exports import exports
from datasets.exports import row_files as reading
from datasets.exports.row_files import Line, RowOffsets, find_row_files
from datasets.exports.row_view import BRIEF, build_row_view
from datasets.models import DatasetExport
from people.models.bookkeeping import AuditEntry
from tests.datasets.exports.export_helpers import make_export
from tests.factories import SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e"


def add_approved(count, **more):
    for number in range(count):
        body = {"type": "annotated_turn", "context": [], "userMessage": f"Question {number}?", "agentReply": "Yes."}
        SampleFactory(id=f"n{number:03}", session_id=f"s{number:03}", annotation_status="approved",
                      **{"content": orjson.dumps(body).decode(), **more})  # fmt: skip


def file_of(export, side="train"):
    return exports.folder_of(export) / find_row_files(export)[side]["name"]


def row_numbers(page):
    return [row.number for row in page.context["file_rows"]["rows"]]


def test_it_works(as_reviewer):
    add_approved(30)
    export = make_export(as_reviewer)
    page = as_reviewer.get(export.get_absolute_url())
    assert row_numbers(page) == [1, 2, 3, 4, 5, 8, 13, 18, 23, 28]
    lines = file_of(export).read_bytes().splitlines()
    for row in page.context["file_rows"]["rows"]:
        assert row.sample_id == orjson.loads(lines[row.number - 1])["sample_id"]
    assert "Question 27?" in page.text and "Question 25?" not in page.text


@pytest.mark.parametrize(("count", "expected"), [(1, [1]), (5, [1, 2, 3, 4, 5]), (7, [1, 2, 3, 4, 5, 6, 7])])
def test_few_rows_are_all_shown(as_reviewer, count, expected):
    add_approved(count)
    assert sorted(set(row_numbers(as_reviewer.get(make_export(as_reviewer).get_absolute_url())))) == expected


def test_any_row_by_its_number(as_reviewer, monkeypatch):
    monkeypatch.setattr(reading, "PLACES", 4)  # rows between the few noted places are found as well
    add_approved(30)
    export = make_export(as_reviewer)
    assert orjson.loads(DatasetExport.objects.get().places_json)["every"] == 8
    for number in (1, 17, 30):
        page = as_reviewer.get(export.get_absolute_url(), {"row": number})
        assert f"Row {number} of 30" in page.text and f"Question {number - 1}?" in page.text
        assert page.context["file_rows"]["row"].sample_id == f"n{number - 1:03}"
    page = as_reviewer.get(export.get_absolute_url(), {"row": 17}).text
    assert '?row=18#rows" hx-get' in page and 'data-key="j"' in page and 'data-key="k"' in page
    assert 'href="/samples/n016/"' in page and "instruction&quot;: &quot;Question 16?" in page


@pytest.mark.parametrize("row", ["0", "31", "x", "-1", "9" * 30, "1e3", "１"])
def test_a_row_that_does_not_exist_is_a_sentence(as_reviewer, row):
    add_approved(3)
    page = as_reviewer.get(make_export(as_reviewer).get_absolute_url(), {"row": row})
    assert page.status_code == 200
    assert "There is no row" in page.text or "Rows are identified by their numbers." in page.text
    assert "Show ten rows" in page.text


def test_what_is_not_learned_is_marked(as_reviewer):
    add_approved(1)
    export = make_export(as_reviewer, format="sharegpt", history="context")
    page = as_reviewer.get(export.get_absolute_url())
    assert [part.is_masked for part in page.context["file_rows"]["rows"][0].parts] == [True, False]
    assert "record--masked" in page.text and "train: false" in page.text


def test_hostile_texts_do_nothing(as_reviewer):
    body = {"type": "annotated_turn", "context": [], "userMessage": HOSTILE, "agentReply": HOSTILE}
    add_approved(1, content=orjson.dumps(body).decode())
    export = make_export(as_reviewer, format="sharegpt")
    for query in ({}, {"row": 1}):
        page = as_reviewer.get(export.get_absolute_url(), query).text
        assert "<script>alert" not in page and "<img src=x" not in page
        assert "&lt;script&gt;alert(1)" in page and "\x1b" not in page and "\u202e" not in page


def test_a_long_row_is_cut(as_reviewer):
    body = {"type": "annotated_turn", "context": [], "userMessage": "Why?", "agentReply": "word " * 180_000}
    add_approved(1, content=orjson.dumps(body).decode())
    export = make_export(as_reviewer)
    for query in ({}, {"row": 1}):
        page = as_reviewer.get(export.get_absolute_url(), query)
        assert "more characters" in page.text and len(page.content) < 400_000


class TestFormats:
    def test_openai_has_roles_and_the_sample_of_each_row(self, as_reviewer):
        add_approved(12)
        export = make_export(as_reviewer, format="openai", history="context")
        page = as_reviewer.get(export.get_absolute_url(), {"row": 12})
        row = page.context["file_rows"]["row"]
        assert [(part.name, part.tone) for part in row.parts] == [("user", "user"), ("assistant", "agent")]
        sources = file_of(export).with_suffix(".sources.jsonl").read_bytes().splitlines()
        assert row.sample_id == orjson.loads(sources[11])["sample_id"]
        assert f'href="/samples/{row.sample_id}/"' in page.text
        assert dict(row.facts)["turn_number"] == "1"

    def test_openai_dims_what_is_not_learned(self):
        call = {"id": "call00001", "type": "function", "function": {"name": "exec", "arguments": '{"a":1}'}}
        messages = [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b", "tool_calls": [call], "weight": 0},
            {"role": "tool", "tool_call_id": "call00001", "content": "c"},
            {"role": "assistant", "content": "d", "weight": 1},
        ]
        view = build_row_view(Line(1, orjson.dumps({"messages": messages}), b'{"sample_id":"x"}'), "openai")
        assert [part.is_masked for part in view.parts] == [False, True, False, False]
        assert [part.tone for part in view.parts] == ["user", "agent", "tool", "agent"]
        assert "exec" in view.parts[1].text and "call00001" in view.parts[2].text and view.sample_id == "x"

    def test_openai_without_its_sources_is_shown_all_the_same(self, as_reviewer):
        add_approved(3)
        export = make_export(as_reviewer, format="openai")
        file_of(export).with_suffix(".sources.jsonl").unlink()
        page = as_reviewer.get(export.get_absolute_url(), {"row": 2})
        assert page.context["file_rows"]["row"].sample_id == "" and "Question 1?" in page.text

    @pytest.mark.parametrize("is_noted", [True, False])
    @pytest.mark.parametrize("format_", ["openai", "raw", "csv"])
    def test_any_row_of_any_format(self, as_reviewer, monkeypatch, format_, is_noted):
        monkeypatch.setattr(reading, "PLACES", 4)
        add_approved(30, output='Two\r\nlines, "one" text\n')
        export = make_export(as_reviewer, format=format_, train_split="1")
        if not is_noted:
            DatasetExport.objects.update(places_json=None)
        for number in (1, 2, 17, 30):
            page = as_reviewer.get(export.get_absolute_url(), {"row": number})
            row = page.context["file_rows"]["row"]
            assert row.sample_id == f"n{number - 1:03}" and f'href="/samples/n{number - 1:03}/"' in page.text
            assert f"Question {number - 1}?" in page.text and "lines, &quot;one&quot; text" in page.text
            assert row.is_table == (format_ != "openai")
        page = as_reviewer.get(export.get_absolute_url())
        assert row_numbers(page) == [1, 2, 3, 4, 5, 8, 13, 18, 23, 28]
        assert ("samples as they are stored" in page.text) == (format_ != "openai")

    def test_a_cell_longer_than_usual_is_read(self, as_reviewer):
        add_approved(2, output="many words " * 20_000)
        page = as_reviewer.get(make_export(as_reviewer, format="csv").get_absolute_url(), {"row": 1})
        assert "more characters" in page.text and not page.context["file_rows"]["problem"]


class TestFile:
    @pytest.mark.parametrize(
        ("damage", "sentence"),
        [
            (lambda path: path.unlink(), "The file of this export is missing"),
            (lambda path: path.write_bytes(b""), "has changed since it was written"),
            (lambda path: path.write_bytes(b"x" * path.stat().st_size), "has changed since it was written"),
            (lambda path: path.write_bytes(b"[]" + b" " * (path.stat().st_size - 3) + b"\n"), "has changed since"),
        ],
    )
    def test_another_than_was_written_is_a_sentence(self, as_reviewer, damage, sentence):
        add_approved(3)
        export = make_export(as_reviewer)
        damage(file_of(export))
        for query in ({}, {"row": 2}):
            page = as_reviewer.get(export.get_absolute_url(), query)
            assert page.status_code == 200 and sentence in page.text

    def test_only_the_other_side_was_written(self, as_reviewer):
        add_approved(2)
        page = as_reviewer.get(make_export(as_reviewer, train_split="0").get_absolute_url())
        assert row_numbers(page) == [1, 2] and "rows of the file “test”" in page.text

    def test_a_row_too_far_from_a_noted_place_is_not_looked_for(self, as_reviewer, monkeypatch):
        monkeypatch.setattr(reading, "WALKED", 500)
        add_approved(12)
        export = make_export(as_reviewer)
        DatasetExport.objects.update(places_json=None)
        page = as_reviewer.get(export.get_absolute_url(), {"row": 12})
        assert "too far into the file" in page.text


def test_whoever_sees_rows_is_in_the_audit_log(as_reviewer):
    add_approved(1)
    export = make_export(as_reviewer)
    as_reviewer.get(export.get_absolute_url())
    assert AuditEntry.objects.filter(action="read", object_type="export", object_id=export.id).exists()


@given(sizes=st.lists(st.integers(1, 50), min_size=1, max_size=60))
def test_noted_places_are_where_rows_begin(sizes):
    places, offset, starts = RowOffsets(), 0, []
    for number, size in enumerate(sizes):
        places.add_row(number, offset)
        starts.append(offset)
        offset += size
    assert places.offsets == starts[:: places.every]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)
ROLES = st.sampled_from(["from", "role", "value", "content", "train", "tool_calls"])
MESSAGES = st.lists(st.dictionaries(ROLES, JSON, max_size=4) | JSON, max_size=4)
COLUMNS = st.sampled_from(["conversations", "messages", "instruction", "output", "sample_id", "chosen", "label"])


FORMATS = st.sampled_from(["", "alpaca", "sharegpt", "openai", "raw", "csv"])


@given(row=st.dictionaries(COLUMNS, JSON | MESSAGES, max_size=5), kind=FORMATS, is_alone=st.booleans())
def test_rows_of_any_shape_can_be_shown(row, kind, is_alone):
    view = build_row_view(Line(1, orjson.dumps(row)), kind, is_alone=is_alone)
    assert all(isinstance(part.text, str) and isinstance(part.name, str) for part in view.parts)
    assert sum(len(part.text) for part in view.parts) <= BRIEF[1] * 10
