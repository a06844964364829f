"""Verification of an export's files: page, API and command."""

import hashlib
import io
import os
import shutil

import orjson
import pytest
from django.core.management import CommandError, call_command

from datasets.exports import exports
from datasets.models import DatasetExport
from jobs import execution
from jobs.models import JobRun
from tests.datasets.exports.branches import body
from tests.datasets.exports.export_helpers import make_export
from tests.factories import ExportFactory, SampleFactory

API = "/api/v1/exports"
ROWS = "ocl_First-try_alpaca.train.jsonl"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


@pytest.fixture
def folder(export):
    return exports.folder_of(export)


def flip(file):
    """Flip a bit in the middle of a file; its size stays the same."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def replace_manifest(folder, **changes):
    """Write the manifest with these changes."""
    manifest = orjson.loads((folder / "manifest.json").read_bytes()) | changes
    (folder / "manifest.json").write_bytes(orjson.dumps(manifest))


def forge(folder):
    """Change the rows, and make the manifest and the checksums fit them."""
    flip(folder / ROWS)
    manifest = orjson.loads((folder / "manifest.json").read_bytes())
    for file in manifest["files"]:
        file["sha256"] = hashlib.sha256((folder / file["name"]).read_bytes()).hexdigest()
    replace_manifest(folder, files=manifest["files"])
    names = sorted(file.name for file in folder.iterdir() if file.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(sums))


DAMAGE = {
    "deleted": (lambda folder: (folder / ROWS).unlink(), {ROWS: "missing"}),
    "truncated": (lambda folder: os.truncate(folder / ROWS, 100), {ROWS: "changed"}),
    "flipped": (lambda folder: flip(folder / ROWS), {ROWS: "changed"}),
    "card flipped": (lambda folder: flip(folder / "README.md"), {"README.md": "changed"}),
    "sums flipped": (lambda folder: flip(folder / "SHA256SUMS"), {"SHA256SUMS": "changed"}),
    "added": (lambda folder: (folder / "more.jsonl").write_text("{}\n"), {"more.jsonl": "unexpected"}),
    "folder added": (lambda folder: (folder / "cache").mkdir(), {"cache": "unexpected"}),
    "manifest replaced": (lambda folder: replace_manifest(folder, rules=9), {"manifest.json": "changed"}),
    "forged": (forge, {ROWS: "changed", "manifest.json": "changed", "SHA256SUMS": "changed"}),
    "now a link": (
        lambda folder: (shutil.move(folder / ROWS, folder.parent / "x"), (folder / ROWS).symlink_to("../x")),
        {ROWS: "changed"},
    ),
    "now a folder": (lambda folder: ((folder / ROWS).unlink(), (folder / ROWS).mkdir()), {ROWS: "changed"}),
}


WORDS = {"changed": "Not as written", "missing": "Missing", "unexpected": "Unexpected"}  # as the page has them


def command(*words):
    out = io.StringIO()
    call_command("verify_export", *words, "--json", "--quiet", stdout=out, stderr=io.StringIO())
    return orjson.loads(out.getvalue())


def run_verification(browser, export):
    """Start a verification through the API and return the result of its job."""
    answer = browser.post(f"{API}/{export.id}/verify", {}, "application/json")
    assert answer.status_code == 202, answer.content
    execution.run_next()
    job = JobRun.objects.get(id=answer.json()["id"])
    assert job.state == "finished", job.message
    return orjson.loads(job.result_json)


def test_it_works(as_reviewer, export, folder):
    assert "Not verified since the export" in as_reviewer.get(export.get_absolute_url()).text
    answer = as_reviewer.post(f"/exports/{export.id}/verify/")
    assert answer.status_code == 302 and answer["Location"] == export.get_absolute_url()
    page = as_reviewer.get(export.get_absolute_url()).text
    assert "verify-refresh" in page and "Intact" not in page
    execution.run_next()
    page = as_reviewer.get(export.get_absolute_url()).text
    assert page.count('badge--ok">Intact') == len(list(folder.iterdir())) == 5
    assert "5 files compared, all intact." in page


@pytest.mark.parametrize("format_", ["alpaca", "sharegpt", "openai", "raw", "csv"])
def test_every_format_is_read_again(as_reviewer, format_):
    odd = 'a reply,\r\nwith "commas" and lines'
    for number in range(12):
        columns = {"session_id": f"s{number}", "annotation_status": "approved", "output": odd}
        SampleFactory(id=f"x{number}", content=body(number), **columns)
    export = make_export(as_reviewer, format=format_, train_split="0.5")
    result = run_verification(as_reviewer, export)
    assert result["is_intact"], result
    [file] = [file for file in exports.folder_of(export).glob("*.test.*") if "sources" not in file.name]
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]))
    [wrong] = [file for file in run_verification(as_reviewer, export)["files"] if file["state"] != "intact"]
    assert (wrong["name"], wrong["state"]) == (file.name, "changed")


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_was_done_to_the_files_is_found(as_reviewer, export, folder, damage):
    do, expected = DAMAGE[damage]
    do(folder)
    result = run_verification(as_reviewer, export)
    states = {file["name"]: file["state"] for file in result["files"]}
    assert {name: state for name, state in states.items() if state != "intact"} == expected
    assert not result["is_intact"] and all(file["reason"] for file in result["files"] if file["state"] != "intact")
    page = as_reviewer.get(export.get_absolute_url()).text
    for name, state in expected.items():
        assert name in page and WORDS[state] in page
    with pytest.raises(CommandError) as failed:
        command("First try")
    assert failed.value.returncode == 1
    for name in expected:
        assert f"First try/{name}: " in str(failed.value)


def test_rows_are_read_again(as_reviewer, export, folder):
    """A file can match its manifest and still hold rows that trainers reject.

    Or it can hold too few rows.
    """
    cases = [
        (b'{"instruction": "", "input": "", "output": "x"}\n' * 3, "columns of the row"),
        (b"[]\n" * 3, "Row 1 cannot be read"),
        ((folder / ROWS).read_bytes().splitlines(keepends=True)[0], "1 row instead of 3 rows"),
    ]
    for data, reason in cases:
        (folder / ROWS).write_bytes(data)
        manifest = export.manifest
        facts = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        manifest["files"] = [file | facts if file["name"] == ROWS else file for file in manifest["files"]]
        stored = orjson.dumps(manifest)
        (folder / "manifest.json").write_bytes(stored)
        checksum = hashlib.sha256(stored).hexdigest()
        DatasetExport.objects.update(manifest_json=stored.decode(), checksum=checksum)
        [file] = [file for file in run_verification(as_reviewer, export)["files"] if file["name"] == ROWS]
        assert file["state"] == "changed" and reason in file["reason"]


def test_a_folder_that_is_gone(as_reviewer, export, folder):
    shutil.rmtree(folder)
    assert {file["state"] for file in run_verification(as_reviewer, export)["files"]} == {"missing"}


def test_a_line_without_an_end_is_not_kept_in_memory(as_reviewer, export, folder, monkeypatch):
    monkeypatch.setattr("datasets.exports.verification.LONGEST_LINE", 64)
    [file] = [file for file in run_verification(as_reviewer, export)["files"] if file["name"] == ROWS]
    assert file["state"] == "changed" and "cannot be read" in file["reason"]


def test_the_command(export):
    receipt = command("First try")
    assert receipt["schema"] == "openclaw-web.export-verification.v1" and receipt["ok"]
    [result] = receipt["exports"]
    assert result["export_id"] == export.id and {file["state"] for file in result["files"]} == {"intact"}
    assert command() == receipt and command(export.id) == receipt
    out = io.StringIO()
    call_command("verify_export", stdout=out, stderr=io.StringIO())
    assert f"First try ({export.id}): 5 files compared, all intact.\n" in out.getvalue()


def test_the_command_refuses_what_is_not_there(own_home):
    with pytest.raises(CommandError, match="There is no finished export nothing") as refused:
        command("nothing")
    assert refused.value.returncode == 3
    assert command()["exports"] == []


@pytest.mark.parametrize("state", ["waiting", "running", "refused", "failed"])
def test_an_export_without_files_is_refused(as_reviewer, state):
    export = ExportFactory(state=state)
    answer = as_reviewer.post(f"{API}/{export.id}/verify", {}, "application/json")
    assert answer.status_code == 409 and "has no files" in answer.json()["detail"]
    assert as_reviewer.post(f"/exports/{export.id}/verify/").status_code == 404
    assert not JobRun.objects.exists()


def test_two_who_ask_get_the_same_job(as_reviewer, export):
    answers = [as_reviewer.post(f"{API}/{export.id}/verify", {}, "application/json").json() for _ in range(2)]
    assert answers[0]["id"] == answers[1]["id"]
    assert as_reviewer.get(f"{API}/{export.id}").json()["verified_by"] == answers[0]["id"]
