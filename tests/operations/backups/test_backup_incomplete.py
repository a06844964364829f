"""Backups of a home with lost artifacts are incomplete, never verified, and name the losses."""

import json
import shutil

import pytest

from tests.operations.backups.backup_homes import fill, find_archives, run, run_backup
from tests.operations.doctor.doctor_homes import change, doctor, rows


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    home = tmp_path_factory.mktemp("incomplete") / "home"
    fill(home, sessions=2, turns=2, artifacts=8)
    return home


@pytest.fixture
def home(filled):
    """A home with eight artifacts; files that a test removes are put back."""
    contents = {path: path.read_bytes() for path in (filled / "artifacts").rglob("*") if path.is_file()}
    yield filled
    for path, content in contents.items():
        path.write_bytes(content)


def build_handle(blob):
    return f"ocm_artifact:v1:sha256:{blob.name[:64]}"


def find_blobs(home):
    return sorted((home / "artifacts" / "blobs").rglob("*.txt*"))


def run_partly(home, *words):
    """Run a backup command that ends as done in part; returns its receipt and sentence."""
    status, out, err = run(home, "backup", *words, "--json", "--quiet")
    assert status == 4 and "Traceback" not in err, (status, err, out)
    return json.loads(out), err


@pytest.mark.parametrize("ending", [".txt", ".txt.gz"])
def test_a_lost_content_makes_it_incomplete(home, ending):
    blob = next(blob for blob in find_blobs(home) if blob.name.endswith(ending) and len(blob.name) == 64 + len(ending))
    blob.unlink()
    made, sentence = run_partly(home, "create")
    assert made["backup"]["status"] == "incomplete" and made["missing"] == [blob.name[:64]] and not made["damaged"]
    assert build_handle(blob) in made["backup"]["sentence"] and "incomplete" in sentence
    (listed, *_older) = run_backup(home, "list")["backups"]
    assert listed["status"] == "incomplete" and build_handle(blob) in listed["sentence"]
    assert run_partly(home, "verify", made["backup"]["path"])[0]["backup"]["status"] == "incomplete"


def test_a_damaged_content_makes_it_incomplete(home):
    blob = find_blobs(home)[0]
    content = bytearray(blob.read_bytes())
    content[len(content) // 2] ^= 1
    blob.write_bytes(content)
    made, _sentence = run_partly(home, "create")
    assert made["backup"]["status"] == "incomplete" and made["damaged"] == [blob.name[:64]] and not made["missing"]


def test_a_drill_compares_rows_with_contents_and_says_what_it_compared(home):
    whole = run_backup(home, "create")["backup"]
    drilled = run_backup(home, "drill", whole["path"])
    assert "8 artifacts that rows refer to" in drilled["message"]
    assert drilled["backup"]["proven_at"] and not drilled["missing"]
    blob = find_blobs(home)[1]
    blob.unlink()
    made, _sentence = run_partly(home, "create")
    drilled, _sentence = run_partly(home, "drill", made["backup"]["path"])
    assert drilled["missing"] == [blob.name[:64]] and build_handle(blob) in drilled["message"]
    assert drilled["backup"]["status"] == "incomplete"


def test_an_old_archive_that_lacks_something_is_told_apart_once_it_is_read(home, tmp_path):
    find_blobs(home)[2].unlink()
    made, _sentence = run_partly(home, "create", "--to", str(tmp_path))
    other = tmp_path / "other"
    put = run_backup(other, "list")
    assert put["backups"] == []
    checked, _sentence = run_partly(other, "verify", made["backup"]["path"])
    assert checked["backup"]["status"] == "incomplete" and len(checked["missing"]) == 1
    status, out, err = run(other, "backup", "restore", made["backup"]["path"], "--replace")
    assert status == 0 and "incomplete" in out, err
    assert rows(other, "SELECT status FROM backup_runs ORDER BY created_at DESC LIMIT 1") == [("incomplete",)]


def test_incomplete_ones_never_push_out_a_verified_one(home, tmp_path):
    whole = run_backup(home, "create", "--to", str(tmp_path), "--keep", "1")["backup"]
    find_blobs(home)[3].unlink()
    for _again in range(2):
        run_partly(home, "create", "--to", str(tmp_path), "--keep", "1")
    statuses = {
        row["path"]: row["status"] for row in run_backup(home, "list")["backups"] if str(tmp_path) in row["path"]
    }
    assert statuses[whole["path"]] == "verified" and sorted(statuses.values()) == ["incomplete", "verified"]


def test_an_agent_that_the_registry_has_lost_is_in_it_all_the_same(home, tmp_path):
    known = rows(home, "SELECT * FROM agent_databases WHERE agent_id = 'research'")
    change(home, "PRAGMA foreign_keys=OFF; CREATE TABLE kept AS SELECT * FROM agents WHERE agent_id = 'research';"
                 "DELETE FROM agents WHERE agent_id = 'research'")  # fmt: skip
    made = run_backup(home, "create")
    change(home, "INSERT INTO agents SELECT * FROM kept; DROP TABLE kept")
    assert known and made["backup"]["status"] == "verified"
    assert run(tmp_path / "other", "backup", "restore", made["backup"]["path"])[0] == 0
    assert rows(tmp_path / "other", "SELECT count(*) FROM sessions", "research") == [(1,)]


def test_a_file_that_is_damaged_is_not_copied_as_if_it_were_sound(home):
    file = home / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    content = file.read_bytes()
    ((page, size),) = rows(home, "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema "
                                 "WHERE name = 'idx_event_created'", "main")  # fmt: skip
    begin = (page - 1) * size + 8
    file.write_bytes(content[:begin] + b"\xff" * 40 + content[begin + 40 :])
    status, _out, err = run(home, "backup", "create", "--quiet")
    file.write_bytes(content)
    assert status == 3 and "damaged" in err and "Traceback" not in err


def test_the_doctor_mends_with_an_incomplete_backup_and_says_so(home):
    find_blobs(home)[4].unlink()
    change(home, "UPDATE agent_summaries SET turn_count = 99 WHERE agent_id = 'main'")
    before = len(find_archives(home))
    fixed, _status = doctor(home, "--fix")
    assert fixed["run"]["backup"]["status"] == "incomplete" and len(find_archives(home)) == before + 1
    assert {repair["check"] for repair in fixed["run"]["repairs"]} == {"sums"}
    assert "incomplete" in fixed["message"]


@pytest.mark.parametrize("damage", ["blank", "beginning", "missing"])
def test_without_the_database_of_an_agent_there_is_no_backup(filled, tmp_path, damage):
    home = shutil.copytree(filled, tmp_path / "home")
    before = find_archives(home)
    file = home / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    for path in file.parent.glob(f"{file.name}-*"):
        path.unlink()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(b"" if damage == "blank" else b"x" * 50 + file.read_bytes()[50:])
    status, _out, err = run(home, "backup", "create", "--quiet")
    reason = {
        "blank": "agents/main/agent/openclaw-agent.sqlite is damaged: the file is blank.",
        "beginning": "agents/main/agent/openclaw-agent.sqlite is damaged: the file is not a SQLite database, or its "
        "beginning is damaged.",
        "missing": "The database of agent main is not where it should be. No backup was created.",
    }
    assert (status, err) == (3, f"{reason[damage]}\n")
    assert find_archives(home) == before
