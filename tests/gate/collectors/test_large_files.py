"""Small plugin files that are a great deal to import: their cost grows slowly."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from gate.models import GateWindow, MemoryGateDecision
from gate.recording import windows
from guardian.models import BehaviorCorrection, FileContent, Rollback, WriteGuardianAudit
from ledger.models import RejectedRecord
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, run
from tests.gate.collectors import reflection_files
from tests.homes import Home
from tests.suite.nightly import first

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.django_db


@pytest.fixture
def home(tmp_path, real_files):
    made = Home(tmp_path / "openclaw")
    made.transcript()
    (made.root / "workspace" / ".openclaw-reflection").mkdir(parents=True)
    configuration.put("reflection.logFolder", str(tmp_path / "logs"))
    (tmp_path / "logs").mkdir()
    return made


def workspace(home):
    return home.root / "workspace"


# Measures the peak of the program itself: the system's figure for a child counts its parent as well.
MEASURED = """
import atexit, pathlib, re, runpy, sys
place = pathlib.Path(sys.argv.pop(1))
status = pathlib.Path("/proc/self/status")
atexit.register(lambda: place.write_text(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]))
runpy.run_module("openclaw_web", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("is_one_line", [False, True])
def test_writes_of_the_same_two_versions_store_each_content_once(home, is_one_line):
    reflection_files.write_same_versions(workspace(home), writes=60, size=200_000, is_one_line=is_one_line)
    assert run(home)["guardian"]["writes"] == 60
    assert sum(len(row.text) for row in FileContent.objects.using(MAIN)) < 6 * 200_000
    rows = WriteGuardianAudit.objects.using(MAIN).filter(origin="imported").select_related("after_snapshot")
    assert {(len(row.after_snapshot.content), row.after_snapshot.content[:3]) for row in rows} == {
        (199_980, "two")
    } or ({row.after_snapshot.content[:3] for row in rows} == {"two"})


def test_decisions_of_one_turn_share_a_window_of_its_newest_messages(home):
    reflection_files.write_one_turn(workspace(home), decisions=120, messages=500)
    assert run(home)["gate"]["decisions"] == 120
    stored = GateWindow.objects.using(MAIN).get()
    window = windows.read_window(MAIN, stored.hash)
    assert (len(window.recent), window.left_out, window.recent[-1]["message"][:4]) == (64, 436, "499 ")


def test_long_messages_are_left_out_of_a_window(home):
    reflection_files.write_one_turn(workspace(home), decisions=1, messages=20, length=50_000)
    run(home)
    window = windows.read_window(MAIN, MemoryGateDecision.objects.using(MAIN).get().window_hash)
    assert (len(window.recent), window.left_out) == (5, 15)


def test_of_one_write_the_newest_corrections_and_the_last_rollback_count(home):
    reflection_files.write_corrections(workspace(home), corrections=300, rollbacks=300)
    result = run(home)["guardian"]
    assert (result["writes"], result["rollbacks"], result["corrections"], result["rejected"]) == (1, 1, 20, 1)
    ids = set(BehaviorCorrection.objects.using(MAIN).values_list("id", flat=True))
    assert ids == {f"c{number}" for number in range(280, 300)}
    assert Rollback.objects.using(MAIN).get().id == "r299"
    detail = RejectedRecord.objects.using(MAIN).get(reason="bad_write").detail
    assert detail == "w1: 280 older corrections were left out: the newest 20 count"


def test_equal_lines_are_one_event_and_counted(home, tmp_path):
    log = tmp_path / "logs" / "reflection-2026-09-21.log"
    reflection_files.write_equal_lines(log, lines=500)
    reflection_files.write_equal_writes(workspace(home), lines=500)
    os.utime(log, (1_700_000_000, 1_700_000_000))
    result = run(home)
    assert (result["gate"]["decisions"], result["gate"]["equal_lines"]) == (1, 499)
    assert (result["guardian"]["writes"], result["guardian"]["equal_lines"]) == (1, 499)


@pytest.mark.parametrize(
    ("function", "sizes"),
    first(
        [
            ("write_same_versions", {"writes": 20, "size": 2_000}),
            ("write_many_versions", {"writes": 100}),
            ("write_one_turn", {"decisions": 100, "messages": 100}),
            ("write_corrections", {"corrections": 100}),
        ],
        2,
    ),
)
def test_statements_grow_no_faster_than_rows(home, tmp_path, function, sizes):
    cost = []
    run(home)
    for times in (1, 5):
        (workspace(home) / ".openclaw-reflection" / "reflection.db").unlink(missing_ok=True)
        for model in (Rollback, BehaviorCorrection, WriteGuardianAudit, MemoryGateDecision):
            model.objects.using(MAIN).all().delete()
        more = {name: number * times if name != "size" else number for name, number in sizes.items()}
        getattr(reflection_files, function)(workspace(home), **more)
        with CaptureQueriesContext(connections[MAIN]) as queries:
            run(home)
        cost.append(len(queries))
    assert cost[1] <= 6 * cost[0]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        ("write_same_versions", {"writes": 200}),
        ("write_one_turn", {"decisions": 1_500, "messages": 3_000}),
        ("write_corrections", {"corrections": 100_000}),
    ],
)
def test_an_import_of_them_needs_no_more_memory_than_another(tmp_path, function, sizes):
    folder = reflection_files.make_home(tmp_path / "openclaw")
    getattr(reflection_files, function)(folder, **sizes)
    environment = os.environ | {"OPENCLAW_WEB_HOME": str(tmp_path / "home")}
    environment.pop("PYTHONDEVMODE", None)
    command = [
        sys.executable,
        "-c",
        MEASURED,
        str(tmp_path / "peak"),
        "collect",
        "--source",
        str(tmp_path / "openclaw"),
    ]
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True)
    assert process.returncode in (0, 4), process.stderr
    assert int((tmp_path / "peak").read_text()) < 200 * 1024
