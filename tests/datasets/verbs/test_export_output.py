"""`-o` of `openclaw-web export` and `openclaw-web reflection dataset export`: copies of the files."""

import hashlib

import orjson
import pytest

from datasets.models import DatasetExport
from datasets.verbs import destination
from openclaw_web.errors import Refused
from tests.datasets.verbs.verb_runs import read_receipt, read_refusal
from tests.factories import SampleFactory
from tests.suite import commands

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


@pytest.fixture
def place(tmp_path):
    """A folder beside the home, with approved samples of 40 sessions to export."""
    for number in range(40):
        body = {"type": "annotated_turn", "userMessage": f"Question {number} of ours", "agentReply": f"Reply {number}"}
        SampleFactory(
            id=f"sample-{number:02}", session_id=f"s{number}", annotation_status="approved",
            content=orjson.dumps(body).decode(),
        )  # fmt: skip
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def export(*words):
    return read_receipt("export", "--format", "alpaca", "--quiet", *words)


def list_names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_training_rows_are_written_to_the_file_and_other_sides_beside_it(place):
    receipt = export("-o", place / "sft-data.jsonl", "--train-split", "0.5", "--validation-split", "0.25")
    names = ["sft-data.jsonl", "sft-data.validation.jsonl", "sft-data.test.jsonl"]
    assert receipt["written"] == [str(place / name) for name in names] and list_names(place) == sorted(names)
    counts = receipt["manifest"]["counts"]
    for name, side in zip(names, ("train", "validation", "test"), strict=True):
        data = (place / name).read_bytes()
        assert len(data.splitlines()) == counts[side] > 0
        written = {file["name"]: file["sha256"] for file in receipt["manifest"]["files"]}
        assert hashlib.sha256(data).hexdigest() in written.values()


def test_a_side_without_rows_has_no_file(place):
    receipt = export("-o", place / "all", "--train-split", "1")
    assert list_names(place) == ["all"] and receipt["written"] == [str(place / "all")]


def test_both_commands_write_the_same_rows(place):
    export("-o", place / "one.jsonl")
    status, out, _error = commands.run("export", "--format", "alpaca", "-o", str(place / "two.jsonl"), "--name", "two")
    assert status == 0 and f"rows written to {place / 'two.jsonl'}" in out
    assert (place / "one.jsonl").read_bytes() == (place / "two.jsonl").read_bytes()
    assert (place / "one.test.jsonl").read_bytes() == (place / "two.test.jsonl").read_bytes()


@pytest.mark.parametrize("is_there", [False, True])
def test_a_folder_gets_the_whole_export(place, is_there):
    if is_there:
        (place / "all").mkdir()
    receipt = export("-o", f"{place}/all/")
    assert list_names(place) == ["all"]
    row = DatasetExport.objects.get()
    files = {path.name: path.read_bytes() for path in (place / "all").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (place.parent / row.file_path).iterdir()}
    assert sorted(receipt["written"]) == sorted(str(place / "all" / name) for name in files)
    assert {"manifest.json", "README.md"} <= set(files)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.test.jsonl", "rows.validation.jsonl"])
def test_a_file_that_exists_is_kept(place, name):
    (place / name).write_text("mine")
    sentence = read_refusal("export", "--format", "alpaca", "-o", place / "rows.jsonl")
    assert sentence == f"{place / name} already exists. Choose another name, or use --force to replace it."
    assert (place / name).read_text() == "mine" and list_names(place) == [name]
    assert not DatasetExport.objects.exists()


def test_a_file_is_replaced_by_force_and_no_old_side_stays(place):
    export("-o", place / "rows.jsonl", "--train-split", "0.5")
    assert list_names(place) == ["rows.jsonl", "rows.test.jsonl"]
    export("-o", place / "rows.jsonl", "--train-split", "1", "--force")
    assert list_names(place) == ["rows.jsonl"]
    assert len((place / "rows.jsonl").read_bytes().splitlines()) == 40


def test_a_folder_with_files_is_kept_unless_forced(place):
    (place / "mine.txt").write_text("mine")
    sentence = f"The folder {place} is not empty. Choose another one, or use --force."
    assert read_refusal("export", "--format", "alpaca", "-o", f"{place}/") == sentence
    assert read_refusal("export", "--format", "alpaca", "-o", place) == sentence
    assert list_names(place) == ["mine.txt"]
    export("-o", f"{place}/", "--force")
    assert (place / "mine.txt").read_text() == "mine" and (place / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing/rows.jsonl", "There is no folder {place}/missing. Create it first."),
        ("missing/all/", "There is no folder {place}/missing. Create it first."),
        ("file/rows.jsonl", "There is no folder {place}/file. Create it first."),
        ("link", "{place}/link is not a regular file. Choose another name."),
        ("file/", "{place}/file is not a folder. Choose another name."),
    ],
)
def test_a_place_that_cannot_be_written_to_is_refused(place, name, sentence):
    (place / "file").touch()
    (place / "link").symlink_to("file")
    target = f"{place}/{name}"
    for force in ((), ("--force",)):
        assert read_refusal("export", "--format", "alpaca", "-o", target, *force) == sentence.format(place=place)
    assert list_names(place) == ["file", "link"] and not DatasetExport.objects.exists()


def test_an_empty_name_is_refused(place):
    assert read_refusal("export", "--format", "alpaca", "-o", "") == "Name a file or a new folder with --output."


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--dry-run", "-o", "rows.jsonl"), "--dry-run writes nothing: leave out --output."),
        (("--force",), "Use --force with --output."),
        (("--release", "1"), "Use --release with --dataset."),
    ],
)
def test_options_that_do_not_go_together_are_wrong_use(place, words, sentence):
    assert read_refusal("export", "--format", "alpaca", *words, status=2) == sentence
    status, _out, error = commands.run("export", "--format", "alpaca", "--name", "one", *words)
    assert (status, error) == (2, sentence)


def test_a_file_that_appears_meanwhile_is_kept(place):
    """Another process creates the file of the second side after the first check."""
    export("-o", place / "first.jsonl", "--train-split", "0.5")
    target = destination.parse_destination(str(place / "late.jsonl"), may_replace=False)
    (place / "late.test.jsonl").write_text("mine")
    with pytest.raises(Refused, match=r"late\.test\.jsonl already exists"):
        destination.copy_export(DatasetExport.objects.get(), target)
    assert list_names(place) == ["first.jsonl", "first.test.jsonl", "late.test.jsonl"]
    assert (place / "late.test.jsonl").read_text() == "mine"


def test_a_file_that_was_changed_in_the_store_is_not_copied(place):
    export()
    row = DatasetExport.objects.get()
    file = next((place.parent / row.file_path).glob("*.train.jsonl"))
    file.write_bytes(file.read_bytes().replace(b"Reply", b"Reqly"))
    target = destination.parse_destination(str(place / "rows.jsonl"), may_replace=False)
    with pytest.raises(Refused, match="is missing or was changed"):
        destination.copy_export(row, target)
    assert list_names(place) == []


def test_a_minimum_quality_needs_scores(place):
    for words in ((), ("--dry-run",)):
        sentence = read_refusal("export", "--format", "alpaca", "--min-quality", "0.5", *words)
        assert sentence == "No sample has a quality score yet. Leave out --min-quality."
    assert not DatasetExport.objects.exists()


def test_rows_are_counted_without_an_export(place):
    receipt = export("--dry-run")
    assert (receipt["dry_run"], receipt["fits"]["rows"], receipt["written"]) == (True, 40, [])
    assert not DatasetExport.objects.exists()


def test_exports_without_a_name_have_names_of_their_own(place):
    first, second = export(), export()
    assert first["name"] != second["name"] and first["name"].startswith("alpaca 20")
    assert commands.run("export", "--format", "alpaca", "-o", str(place / "rows.jsonl"))[0] == 0
    status, _out, error = commands.run("export", "--format", "alpaca")
    assert (status, error) == (2, "Use --name to name the export, or --dry-run to count samples.")
