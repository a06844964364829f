"""The comparison of an export with the previous one, its row lengths and its checks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.exports import exports
from datasets.exports.exchanges import EIGHTHS, estimate_weight
from datasets.exports.files import Lengths
from datasets.exports.row_files import KINDS, find_row_files
from datasets.models import DatasetExport, DatasetSample
from jobs import execution
from jobs.models import JobRun
from tests.datasets.exports.branches import body
from tests.datasets.exports.export_helpers import FORM_FIELDS, make_export
from tests.factories import SampleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
FORMATS = ["alpaca", "sharegpt", "openai", "raw", "csv"]


@pytest.fixture
def first(as_reviewer, own_home):
    for name in ("gone", "edited", "same"):
        add_approved(name, session_id=name)
    return make_export(as_reviewer, train_split="1")


def add_approved(name, **place):
    SampleFactory(id=name, content=body(name), annotation_status="approved", **place)


def make_second(browser, **changes):
    """Build another export on the page."""
    answer = browser.post("/exports/create/", FORM_FIELDS | {"name": "Second try", "train_split": "1"} | changes)
    assert answer.status_code == 302, answer.text
    execution.run_next()
    return DatasetExport.objects.get(export_name=changes.get("name", "Second try"))


def counts(export):
    difference = export.difference
    return {name: difference[name]["count"] for name in KINDS} | {"same": difference["same"]}


def test_it_works(as_reviewer, first):
    DatasetSample.objects.filter(id="gone").update(annotation_status="rejected")
    DatasetSample.objects.filter(id="edited").update(output="Better words.")
    add_approved("new", session_id="new")
    second = make_second(as_reviewer, seed="1")
    assert counts(second) == {"added": 1, "removed": 1, "changed": 1, "moved": 0, "same": 1}
    assert second.difference["changed"]["samples"] == ["edited"]
    page = as_reviewer.get(second.get_absolute_url()).text
    assert "Compared with the export before" in page and first.get_absolute_url() in page
    assert "Only in this export" in page and 'href="/samples/new/"' in page
    assert "<dt>Seed</dt><dd>0 → 1</dd>" in page


def test_the_first_of_its_kind_is_compared_with_nothing(as_reviewer, first):
    assert first.difference == {}
    other = make_second(as_reviewer, format="sharegpt")
    assert other.difference == {}
    assert "Compared with the export before" not in as_reviewer.get(other.get_absolute_url()).text


def test_a_row_on_the_other_side_moved(as_reviewer, first):
    second = make_second(as_reviewer, train_split="0")
    assert counts(second) == {"added": 0, "removed": 0, "changed": 0, "moved": 3, "same": 0}


def test_the_same_export_again_has_the_same_files(as_reviewer, first):
    second = make_second(as_reviewer)
    assert counts(second)["same"] == 3
    sums = [[file["sha256"] for file in find_row_files(export).values()] for export in (first, second)]
    assert sums[0] == sums[1]
    assert "The options are the same." in as_reviewer.get(second.get_absolute_url()).text


def test_when_the_one_before_is_gone_that_is_said(as_reviewer, first):
    (exports.folder_of(first) / find_row_files(first)["train"]["name"]).unlink()
    second = make_second(as_reviewer)
    assert second.state == "ready"
    assert "were not compared" in as_reviewer.get(second.get_absolute_url()).text
    assert "Question" not in str(second.difference)


def test_big_exports_are_not_compared(as_reviewer, first, monkeypatch):
    monkeypatch.setattr("datasets.exports.row_files.MOST_ROWS", 5)
    second = make_second(as_reviewer)
    assert second.difference["problem"] == "too_big"
    assert "too large to compare" in as_reviewer.get(second.get_absolute_url()).text


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format(as_reviewer, own_home, format_):
    gone, edited, new = 'a"b\\c', "edited", 'd"e'  # ids that need escapes
    for name in (gone, edited, "same"):
        add_approved(name, session_id=name, output=f'Two\nlines, "one" text\r\n of {name}')
    make_export(as_reviewer, format=format_, train_split="1")
    DatasetSample.objects.filter(id=gone).update(annotation_status="rejected")
    DatasetSample.objects.filter(id=edited).update(output="Better words.")
    add_approved(new, session_id="new")
    second = make_second(as_reviewer, format=format_)
    assert counts(second) == {"added": 1, "removed": 1, "changed": 1, "moved": 0, "same": 1}
    difference = second.difference
    assert [difference[name]["samples"] for name in ("added", "removed", "changed")] == [[new], [gone], [edited]]


class TestManifest:
    def test_lengths(self, as_reviewer, own_home):
        SampleFactory(id="short", annotation_status="approved")
        SampleFactory(id="long", session_id="s", annotation_status="approved", output="word " * 4_000)
        export = make_export(as_reviewer)
        lengths = export.manifest["lengths"]
        assert sum(rows for _first, _beyond, rows in lengths["tokens"]) == 2
        assert lengths["tokens_above"] == {"2048": 1, "4096": 1, "8192": 0}
        page = as_reviewer.get(export.get_absolute_url()).text
        assert "More than 2,048 tokens" in page and "1 row (50.0 %)" in page and "Rows by estimated tokens" in page

    def test_changes_name_their_first_samples(self, as_reviewer, own_home):
        for number in range(25):
            SampleFactory(
                id=f"n{number:02}", session_id=f"s{number:02}", annotation_status="approved", output=f"Better {number}."
            )
        export = make_export(as_reviewer)
        manifest = export.manifest
        assert manifest["transformations"]["reply_edited"] == 25
        assert manifest["transformed_samples"]["reply_edited"] == [f"n{number:02}" for number in range(20)]
        page = as_reviewer.get(export.get_absolute_url()).text
        assert 'href="/samples/n07/"' in page and "and more" in page

    @pytest.mark.parametrize(
        ("options", "programs"),
        [
            ({"format": "openai"}, ["OpenAI fine-tuning"]),
            ({"format": "alpaca"}, ["LLaMA-Factory", "HF datasets", "HF datasets"]),
            ({"format": "sharegpt"}, ["LLaMA-Factory", "LLaMA-Factory", "HF datasets", "HF datasets"]),
            (
                {"format": "sharegpt", "tool_calls": "leave_out"},
                ["LLaMA-Factory", "LLaMA-Factory", "Unsloth", "HF datasets", "HF datasets"],
            ),
            (
                {"format": "sharegpt", "history": "context"},
                ["LLaMA-Factory", "LLaMA-Factory", "HF datasets", "HF datasets"],
            ),
        ],
    )
    def test_checks_are_those_that_were_made(self, as_reviewer, own_home, options, programs):
        SampleFactory(annotation_status="approved")
        export = make_export(as_reviewer, **options)
        assert [check["program"] for check in export.manifest["checks"]] == programs
        page = as_reviewer.get(export.get_absolute_url()).text
        assert "Checks passed by every row" in page and ("Unsloth 2026" in page) == ("Unsloth" in programs)


class TestEstimate:
    @pytest.mark.parametrize(("text", "tokens"), [("", 0), ("word" * 100, 100), ("你好" * 50, 100), ("привет" * 8, 30)])
    def test_of_scripts(self, text, tokens):
        assert estimate_weight(text) // EIGHTHS == tokens

    @given(texts=st.lists(st.text(max_size=40), max_size=5))
    def test_of_several_texts_is_their_sum(self, texts):
        assert sum(map(estimate_weight, texts)) == estimate_weight("".join(texts))

    @given(sizes=st.lists(st.integers(0, 10**7), max_size=30))
    def test_ranges_hold_every_row_once(self, sizes):
        lengths = Lengths()
        for size in sizes:
            lengths.add_row(size, size * EIGHTHS)
        ranges = lengths.as_json()["tokens"]
        assert sum(rows for _first, _beyond, rows in ranges) == len(sizes)
        for first, beyond, rows in ranges:
            assert rows == sum(first <= size < beyond for size in sizes)


@pytest.mark.parametrize("sample_id", ["a/b", "..", r"\q", "x" * 64])
def test_ids_in_a_file_that_was_changed_break_no_page(as_reviewer, own_home, sample_id):
    """A changed file can hold ids that no store would hold.

    The next export is compared with it all the same.
    """
    SampleFactory(id="z" * 64, session_id="s", annotation_status="approved")
    first = make_export(as_reviewer, train_split="1")
    file = exports.folder_of(first) / find_row_files(first)["train"]["name"]
    changed = sample_id.encode().ljust(64, b"y")[:64]
    file.write_bytes(file.read_bytes().replace(b"z" * 64, changed))
    assert as_reviewer.get(first.get_absolute_url(), {"row": 1}).status_code == 200
    second = make_second(as_reviewer)
    assert JobRun.objects.get(id=second.job_id).state == "finished"
    assert as_reviewer.get(second.get_absolute_url()).status_code == 200
