"""Exports of a release: exactly its members, on their sides, with card, Croissant and lineage."""

import hashlib

import orjson
import pytest

from datasets.exports import exports
from datasets.exports.row_samples import read_rows_of
from datasets.models import DatasetSample, VersionTaint
from openclaw_web.errors import Refused
from tests.datasets.dedup.sample_texts import add_sample, ids
from tests.datasets.dedup.test_sides import LONG, approve, crossing, store_exchanges
from tests.datasets.exports.export_helpers import build_export, excluded_samples, read_rows
from tests.datasets.releases.release_helpers import add_session, make_dataset, make_release, sides_of
from tests.suite.nightly import first

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sessions(home):
    for number in range(30):
        add_session(number, turns=2)


def by_side(version):
    sides = {}
    for sample, side in sides_of(version).items():
        sides.setdefault(side, set()).add(sample)
    return sides


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt", "messages", "openai"])
def test_an_export_has_the_members_on_their_sides(format_):
    version = make_release(make_dataset(train_split=0.5, validation_split=0.2))
    add_session(99)
    export = build_export(format_, release=version.id, train_split=0.9)
    assert export.version_id == version.id
    sides = by_side(version)
    for side, samples in sides.items():
        for sample in samples:
            [place] = read_rows_of(export.id, sample)
            assert place[0] == side
    assert read_rows_of(export.id, "x99-1") == []
    if format_ == "alpaca":
        assert {side: set(samples) for side, samples in ids(export).items()} == sides
        rows = read_rows(export, "test")
        assert all(read_rows_of(export.id, row["sample_id"]) == [("test", n)] for n, row in enumerate(rows, 1))


def test_two_exports_of_a_release_are_the_same_whatever_was_added_since():
    version = make_release(make_dataset(train_split=0.5))
    first = build_export("sharegpt", name="one", release=version.id)
    for number in range(40, 50):
        add_session(number)
    again = build_export("sharegpt", name="two", release=version.id)
    assert read_rows(first) == read_rows(again) and read_rows(first, "test") == read_rows(again, "test")


def test_members_that_were_edited_rejected_or_tainted_are_left_out():
    version = make_release(make_dataset())
    DatasetSample.objects.filter(id="x1-1").update(output="edited since")
    DatasetSample.objects.filter(id="x2-1").update(annotation_status="rejected")
    VersionTaint.objects.create(version=version, sample_id="x3-1", reason="rolled_back", noted_at=1)
    export = build_export("alpaca", release=version.id)
    assert excluded_samples(export) == {
        "rejected": ["x2-1"],
        "tainted": ["x3-1"],
        "changed_since_release": ["x1-1"],
    }
    assert export.manifest["counts"]["rows"] == 57


def test_the_folder_has_card_croissant_and_lineage():
    version = make_release(make_dataset(train_split=0.5))
    export = build_export("alpaca", release=version.id)
    folder = exports.folder_of(export)
    assert f"release 1 of {version.dataset.name}" in (folder / "README.md").read_text()
    document = orjson.loads((folder / "croissant.json").read_bytes())
    assert document["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    for file in document["distribution"]:
        assert file["sha256"] == hashlib.sha256((folder / file["name"]).read_bytes()).hexdigest()
    columns = [field["source"]["extract"] for records in document["recordSet"] for field in records["field"]]
    assert {"column": "instruction"} in columns
    names = {field["name"] for records in document["recordSet"] for field in records["field"]}
    assert {"instruction", "input", "output", "sample_id"} <= names
    lines = [orjson.loads(line) for line in (folder / "lineage.jsonl").read_bytes().splitlines()]
    assert len(lines) == 60
    rows = {(file, n): row for file in ("train", "test") for n, row in enumerate(read_rows(export, file), 1)}
    for line in lines:
        side = line["file"].split(".")[1]
        assert [sample["sample_id"] for sample in line["samples"]] == [rows[side, line["row"]]["sample_id"]]
    assert {"croissant.json", "lineage.jsonl"} <= {file["name"] for file in export.manifest["files"]}
    assert export.manifest["release"]["checksum"] == version.checksum


def test_another_task_or_an_unknown_release_is_refused():
    version = make_release(make_dataset())
    with pytest.raises(Refused, match="task reply"):
        build_export("alpaca", "gate", release=version.id)
    with pytest.raises(Refused, match="no release"):
        build_export("alpaca", release="nothing")


@pytest.mark.parametrize("history", first(("session", "edited", "context")))
@pytest.mark.parametrize("duplicates", ["one", "keep"])
def test_no_prompt_or_target_is_on_two_sides(ada, history, duplicates):
    DatasetSample.objects.all().delete()
    for number in range(12):
        own = (f"Question {number} of many", " ".join(f"n{number}x{word}" for word in range(12)))
        store_exchanges(f"s{number}", [own, LONG[number % 3], (f"Last {number}", f"Done {number} now.")])
    approve(ada)
    dataset = make_dataset(train_split=0.4, duplicates=duplicates)
    first = make_release(dataset)
    for number in range(12, 24):
        own = (f"Question {number} of many", " ".join(f"n{number}x{word}" for word in range(12)))
        store_exchanges(f"s{number}", [own, LONG[number % 5], (f"Last {number}", f"Done {number} now.")])
    approve(ada)
    second = make_release(dataset)
    before, after = sides_of(first), sides_of(second)
    assert all(after[sample] == side for sample, side in before.items())
    assert crossing(build_export("sharegpt", release=second.id, history=history)) == 0


def test_a_split_by_time_trains_on_sessions_that_ended_before_the_day(ada):
    DatasetSample.objects.all().delete()
    for day in (1, 2, 3, 4):
        milliseconds = 1_764_547_200_000 + (day - 1) * 86_400_000  # 2025-12-01 and later
        add_sample(f"d{day}", f"Reply of day {day} in words", session=f"d{day}", created_at=milliseconds)
    export = build_export("alpaca", name="timed", split_by="time", split_day="2025-12-03")
    assert ids(export) == {"train": ["d1", "d2"], "test": ["d3", "d4"]}
    version = make_release(make_dataset(split_by="time", split_day="2025-12-03"))
    assert sides_of(version) == {"d1": "train", "d2": "train", "d3": "test", "d4": "test"}


@pytest.mark.parametrize("choices", [{"split_by": "time"}, {"split_by": "time", "split_day": "tomorrow"}])
def test_a_split_by_time_needs_a_day(choices):
    with pytest.raises(Refused, match="day of the split"):
        build_export("alpaca", **choices)
