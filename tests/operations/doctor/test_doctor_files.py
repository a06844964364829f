"""Exports, session archives and backups whose files are gone or changed.

Rows promise these files, and nothing can build them again.
"""

import hashlib
import json

import pytest

from tests.homes import Home
from tests.operations.backups.backup_homes import run, run_backup
from tests.operations.doctor.doctor_homes import change, doctor, fill

EXPORT = "01M802QPCKD3RD2B1CZH9PSDC7"


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A home with an export, archived sessions and a backup."""
    home = tmp_path_factory.mktemp("files") / "home"
    fill(Home(home.parent / "home-source"), sessions=2)
    doctor(home, "--fix", status=0)
    create_export(home)
    assert run(home, "archive", "--before", "2026-03-01")[0] == 0
    run_backup(home, "create")
    doctor(home, "--deep", status=0)
    return home


@pytest.fixture
def home(filled):
    """The same home for every test; changed files are put back."""
    contents = {
        path: path.read_bytes() for name in ("exports", "archive", "backups") for path in find_files(filled, name)
    }
    yield filled
    for path, content in contents.items():
        path.write_bytes(content)


def find_files(home, folder):
    return sorted(path for path in (home / folder).rglob("*") if path.is_file())


def create_export(home):
    """A finished export of one file."""
    folder = home / "exports" / EXPORT
    folder.mkdir(parents=True)
    rows = b'{"instruction": "a", "output": "b"}\n' * 20
    listed = {"name": "alpaca-train.jsonl", "bytes": len(rows), "sha256": hashlib.sha256(rows).hexdigest(), "rows": 20}
    manifest = json.dumps({"files": [listed], "checksums": "SHA256SUMS"})
    (folder / "alpaca-train.jsonl").write_bytes(rows)
    (folder / "manifest.json").write_text(manifest)
    sums = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}
    (folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    for path in (home / "exports", folder, *folder.iterdir()):
        path.chmod(0o700 if path.is_dir() else 0o600)
    values = (EXPORT, "mine", "alpaca", "[]", f"exports/{EXPORT}", 1, "reply", "ready", "", "[]")
    values += (manifest, hashlib.sha256(manifest.encode()).hexdigest())
    names = "id, export_name, export_format, sample_types, file_path, exported_at, task, state, sentence, reasons_json"
    change(home, f"INSERT INTO dataset_exports ({names}, manifest_json, checksum) VALUES {values}")


def read_findings(home, *words, status=1):
    looked, _status = doctor(home, *words, status=status)
    return {finding["check"]: finding["sentence"] for finding in looked["store"] if finding["level"] == "finding"}


@pytest.mark.parametrize("name", ["alpaca-train.jsonl", "manifest.json"])
def test_a_file_of_an_export(home, name):
    file = home / "exports" / EXPORT / name
    content = file.read_bytes()
    file.write_bytes(content[:-5])
    assert f"{name} has a different size" in read_findings(home)["export_files"]
    file.write_bytes(b"x" + content[1:])
    assert f"{name} has different content" in read_findings(home, "--deep")["export_files"]
    file.unlink()
    assert f"{name} is missing" in read_findings(home)["export_files"]


def test_an_archive(home):
    archive = next(path for path in find_files(home, "archive") if path.name.endswith(".zst"))
    content = archive.read_bytes()
    archive.write_bytes(content[: len(content) // 2])
    assert "has a different size" in read_findings(home)["archive_files"]
    middle = len(content) // 2
    archive.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :])
    assert "is damaged" in read_findings(home, "--deep")["archive_files"]
    archive.unlink()
    sentence = read_findings(home)["archive_files"]
    assert "is missing" in sentence and archive.name in sentence


def test_a_backup(home):
    backup = find_files(home, "backups")[-1]
    content = backup.read_bytes()
    backup.write_bytes(content[:-100])
    assert "has a different size" in read_findings(home)["backup_files"]
    backup.write_bytes(content[:-10] + b"0123456789")
    assert str(backup) in read_findings(home)["backup_files"]
    backup.unlink()
    looked, _status = doctor(home, status=0)
    assert ("backup_gone", "note") in {(finding["check"], finding["level"]) for finding in looked["store"]}
