"""Files that are renamed or removed during a collect, and files with a second name."""

import json
import multiprocessing
import os
import sqlite3
import sys
from contextlib import contextmanager, suppress

import pytest

from agents.database_copies import Copies
from guardian.models import FileSnapshot, WorkspaceFile
from jobs.progress import Progress
from ledger.models import RejectedRecord, TranscriptEvent
from operations.doctor import plan
from tests.collecting.collect_runs import MAIN, count_events, run
from tests.homes import user
from tests.suite.nightly import first

pytestmark = pytest.mark.django_db
SESSION = "11111111-2222-4333-8444-555555555555"
OTHER = "aaaaaaaa-2222-4333-8444-555555555555"
# One file of each kind that is listed and then looked at.
FILES = (
    f"agents/main/sessions/{OTHER}.jsonl",
    "agents/main/sessions/sessions.json",
    f"agents/main/sessions/{SESSION}.trajectory.jsonl",
    f"agents/main/sessions/{OTHER}.jsonl.deleted.2026-02-21",
    f"agents/main/session-sqlite-import-archive/a.{OTHER}.jsonl.imported-1",
    "agents/main/agent/openclaw-agent.sqlite",
    "cron/jobs.json",
    "cron/runs/job.jsonl",
    "cron/runs/old.jsonl.migrated",
    "memory/main.sqlite",
    "state/openclaw.sqlite",
    "subagents/runs.json",
    "workspace/MEMORY.md",
    "workspace/memory/day.md",
    "workspace/.openclaw/trajectory-exports/one/manifest.json",
)


def fill(home):
    """Write all of FILES, and a transcript that stays; return the transcript."""
    script = home.transcript(user("Kept"), session=SESSION)
    for name in FILES:
        path = home.write(name, "{}\n")
        if name.endswith(".sqlite"):
            path.unlink()
            sqlite3.connect(path).execute("CREATE TABLE t (x)").connection.close()
    home.write("cron/runs/job.jsonl", json.dumps({"jobId": "job", "ts": 1_771_642_800_000, "status": "ok"}) + "\n")
    return script


def look(home):
    """Return the doctor's receipt for a home."""
    with Copies() as copies:
        doctor_plan = plan.Plan(home.root)
        plan.check_home(doctor_plan, {}, Progress(), copies)
    return plan.as_receipt(doctor_plan)


@contextmanager
def vanishing(path, number):
    """Remove a file just before it is looked at or opened for the nth time.

    `number` says which time that is. The file is back after the block.
    """
    times, away, target = 0, path.with_name("away"), str(path)

    def watch(frame, event, call):
        nonlocal times
        if event == "c_call" and call.__name__ in ("stat", "lstat", "open"):
            values = frame.f_locals.values()
            if any(isinstance(value, str | os.PathLike) and os.fspath(value) == target for value in values):
                times += 1
                if times == number:
                    os.rename(target, away)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)
        if away.exists():
            os.rename(away, path)


@pytest.mark.parametrize("act", [run, look])
@pytest.mark.parametrize("name", first(FILES, 3))
def test_a_file_that_is_gone_at_any_moment_costs_nothing_else(home, act, name):
    script, path, number, was_met = fill(home), home.root / name, 0, True
    while was_met:
        number += 1
        script.add(user("More"))
        os.utime(path, (number, number))  # it is to be read again
        with vanishing(path, number):
            act(home)
            was_met = not path.exists()
        if act is run:
            assert TranscriptEvent.objects.using(MAIN).filter(session_id=SESSION).count() == script.count + 1
    assert number > 1


@pytest.mark.parametrize("folder", ["agents/main/sessions", "agents", "cron/runs", "workspace/memory", "state"])
@pytest.mark.parametrize("act", [run, look])
def test_a_folder_that_is_renamed_as_it_is_listed_is_a_note(home, folder, act):
    fill(home)
    run(home)
    path = home.root / folder
    met = []

    def watch(_frame, event, call):
        if event == "c_call" and call.__name__ in ("listdir", "scandir") and not met:
            values = _frame.f_locals.values()
            if any(isinstance(value, str | os.PathLike) and os.fspath(value) == str(path) for value in values):
                met.append(path.rename(path.with_name("away")))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        result = act(home)
    except Exception as exc:
        if folder != "agents":  # without this folder there is no agent, and a sentence says so
            raise
        result = str(exc)
    finally:
        sys.setprofile(before)
    assert met or folder == "state"
    if met and folder not in ("agents", "state"):  # `state` is only listed for transcripts, and it has none
        assert "No such file" in json.dumps(result, default=str)


def rename_for_ever(paths, ready):
    """Rename files to another name and back until somebody ends this process."""
    ready.set()
    while True:
        for path in paths:
            away = path.with_name(path.name + ".renamed")
            with suppress(FileNotFoundError):
                path.rename(away)
                away.rename(path)


@pytest.mark.nightly
def test_files_that_are_renamed_all_the_time(home):
    """Files that are away are passed over, others are read; in the end all are."""
    script, context = fill(home), multiprocessing.get_context("fork")
    ready, paths = context.Event(), [home.root / name for name in FILES]
    renaming = context.Process(target=rename_for_ever, args=(paths, ready), daemon=True)
    renaming.start()
    try:
        ready.wait()
        for _again in range(25):
            script.add(user("More"))
            run(home)
            look(home)
            assert TranscriptEvent.objects.using(MAIN).filter(session_id=SESSION).count() == script.count + 1
    finally:
        renaming.terminate()
        renaming.join()
    for path in home.root.rglob("*.renamed"):
        path.rename(path.with_name(path.name.removesuffix(".renamed")))
    run(home)
    assert count_events("user") == script.count
    file_names = {
        name
        for model in (FileSnapshot, WorkspaceFile)
        for name in model.objects.using(MAIN).values_list("file_name", flat=True)
    }
    assert file_names == {"MEMORY.md", "memory/day.md"}


@pytest.mark.parametrize("name", [*FILES, "openclaw.json"])
def test_a_file_with_a_second_name_is_not_read(home, name):
    """The file may be a key: its content is not stored.

    A note says what to do.
    """
    fill(home)
    secret = home.write("credentials/key.pem", "CANARY-of-a-key\nCANARY again\n")
    path = home.root / name
    path.unlink()
    os.link(secret, path)
    report = run(home, include_deleted=True)
    rejected = list(RejectedRecord.objects.using(MAIN).values("raw_preview", "detail"))
    assert "replace it with a copy" in json.dumps([report, rejected])
    if name.endswith(".sqlite"):
        assert "replace it with a copy" in json.dumps(look(home))
    assert "CANARY" not in json.dumps(rejected)
    assert not TranscriptEvent.objects.using(MAIN).filter(event_json__contains="CANARY").exists()
