"""The doctor's sentences are true: leftovers, skipped files, progress, numbers, and outcomes."""

import fcntl
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.homes import Home, user
from tests.operations.backups.backup_homes import run
from tests.operations.doctor import doctor_homes
from tests.operations.doctor.doctor_homes import doctor, fill, rows

pytestmark = pytest.mark.kill
home, source = doctor_homes.home, doctor_homes.source


def test_a_copy_that_a_living_process_works_on_is_no_leftover(home, source):
    fill(source)
    doctor(home, "--fix", status=0)
    copies = home / "state" / "copies"
    (copies / "1-alive").mkdir(parents=True, mode=0o700)
    with (copies / "1-alive" / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        looked, _status = doctor(home)
    assert not [finding for finding in looked["store"] if finding["check"] == "leftover"]
    assert (copies / "1-alive").is_dir()


def test_folders_that_are_read_in_part_are_listed_with_what_is_left_in_them(home, source):
    fill(source)
    source.write("cron/jobs.json.bak", "{}")
    source.write("workspace/notes/plan.md", "sk-fake-canary")
    source.write("workspace/shopping.md", "sk-fake-canary")
    (source.root / "memory" / "openclaw-mem" / "artifacts").mkdir(parents=True)
    with closing(sqlite3.connect(source.root / "memory" / "openclaw-mem.sqlite")) as store:
        store.execute("CREATE TABLE meta (x)")
    source.write("memory/openclaw-mem-episodes.jsonl", "{}")
    looked, _status = doctor(home)
    skipped = {place["path"]: place["why"] for place in looked["skipped"] if not place["table"]}
    expected = {"cron/jobs.json.bak", "memory/openclaw-mem-episodes.jsonl", "workspace/notes"}
    assert expected | {"workspace/shopping.md"} <= skipped.keys()
    assert not {"cron/jobs.json", "cron/runs/j1.jsonl", "workspace/MEMORY.md", "cron", "workspace"} & skipped.keys()
    assert "memory/openclaw-mem.sqlite" not in skipped
    assert looked["skipped_count"] == len(looked["skipped"])


def test_progress_of_a_look_goes_to_its_end(home, source):
    fill(source)
    _status, _out, err = run(home, "doctor")
    done, total = re.search(r"^([\d,]+) of ([\d,]+)  100 %", err.splitlines()[-1]).groups()
    assert done == total != "0"


def test_numbers_read_right_for_one(home):
    source = Home(Path(f"{home}-source"))
    source.transcript(user("One")).raw("no record\n")
    looked, _status = doctor(home)
    words = "To import: 1 source, with 2 new records and 1 rejected record. 0 other findings. Counted: 0 records of 0"
    assert looked["message"].startswith(words)
    fixed, _status = doctor(home, "--fix", status=0)
    assert fixed["message"] == "1 source imported, 1 new session, 1 rejected record, 0 repairs, 0 warnings."
    undone, _status = doctor(home, "--undo", fixed["run"]["id"], status=0)
    assert undone["message"].startswith("1 session of run ") and "was removed" in undone["message"]
    again, _status = doctor(home, "--unignore", fixed["run"]["id"], status=0)
    assert again["message"].startswith("1 session is no longer excluded")


def test_files_that_stay_make_no_second_backup(home, source):
    """Files with a rejected line are never removed, so a second run does nothing."""
    source.transcript(user("One")).raw("no record\n")
    first, _status = doctor(home, "--fix", "--sources", "archive", "--force", status=0)
    assert [source_file["reason"] for source_file in first["run"]["stayed"]]
    backups = rows(home, "SELECT id FROM backup_runs")
    second, _status = doctor(home, "--fix", "--sources", "archive", "--force", status=0)
    assert second["message"].startswith(
        "Nothing to do. Nothing new and no problems found. Counted: 2 records of 1 session"
    )
    assert rows(home, "SELECT id FROM backup_runs") == backups


def test_a_source_that_is_not_there_could_not_be_looked_at(home):
    status, _out, err = run(home, "doctor", "--source", "/nonexistent")
    assert status == 2 and "There is no OpenClaw folder at /nonexistent" in err


def test_the_last_sentence_comes_once(home, source):
    fill(source)
    status, out, err = run(home, "doctor", "--quiet")
    sentence = out.splitlines()[-1]
    assert status == 1 and sentence.startswith("To import:")
    assert sentence not in err and err.strip() == ""
