"""An OpenClaw folder that was moved, or is mounted elsewhere, is the same folder: `collect --moved-from`."""

import os
import shutil

import pytest

from agents.models import Agent, CollectorSource, SkippedSource
from collecting import migration_runs
from collecting.models import MigrationRun, MigrationSource
from gate.models import MemoryGateDecision
from openclaw_web.errors import Refused
from operations.doctor import ignored_sessions
from people.models.bookkeeping import KeyValue
from tests.collecting.collect_runs import MAIN, count_events, dump_tables, run
from tests.collecting.plugin_log import T0
from tests.homes import Home, assistant, user

pytestmark = pytest.mark.django_db
OF_ROOTS = (CollectorSource, SkippedSource, MigrationRun, MigrationSource)


@pytest.fixture
def moved(place, tmp_path):
    """A home that was imported and then moved, with its path before and its conversation there."""
    home, talk, log = place
    for at, role, text in ((T0, "user", "I like tea"), (T0 + 1_000, "agent", "Noted")):
        log.add_message(at, role, text)
    log.add_decision(T0 + 2_000)
    (home.root / "agents" / "main" / "sessions" / "odd.bin").write_bytes(b"?")
    run(home)
    new = Home.__new__(Home)
    new.__dict__ |= vars(home) | {"root": tmp_path / "elsewhere" / "claw"}
    new.root.parent.mkdir()
    shutil.move(home.root, new.root)
    return home.root, new, new.root / talk.path.relative_to(home.root)


def find_rows_of(root):
    return [row for model in OF_ROOTS for row in model.objects.filter(root=str(root))]


def test_it_is_refused_until_somebody_says_so(moved):
    old, new, _path = moved
    with pytest.raises(Refused, match=f"collect --moved-from {old}") as refused:
        run(new)
    assert f"was imported from {old}" in refused.value.sentence and f"moved to {new.root}" in refused.value.sentence


def test_only_new_records_are_read_afterwards(moved):
    old, new, path = moved
    events, tables = count_events(), dump_tables()
    assert run(new, moved_from=str(old))["records"] == 0
    assert (count_events(), dump_tables()) == (events, tables)
    assert not find_rows_of(old) and find_rows_of(new.root)
    assert not KeyValue.objects.filter(key__startswith=str(old)).exists()
    with path.open("a") as file:
        file.write(path.read_text().splitlines()[-1].replace('"id": "', '"id": "x', 1) + "\n")
    result = run(new)
    assert (result["records"], result["agents"]["main"]["transcripts"]["appended"]) == (1, 1)
    assert Agent.objects.count() == 1


def test_a_log_is_read_again_without_doubling_its_decisions(moved):
    old, new, _path = moved
    decisions = list(MemoryGateDecision.objects.using(MAIN).values_list())
    assert len(decisions) == 1
    assert run(new, moved_from=str(old))["gate"]["decisions"] == 0
    assert list(MemoryGateDecision.objects.using(MAIN).values_list()) == decisions


def test_sessions_that_the_doctor_removed_stay_excluded(moved):
    old, new, _path = moved
    made = MigrationRun.objects.create(id="run", started_at=1, root=str(old))
    rows = [ignored_sessions._build_row(made, "main", "gone", "agents/main/sessions/gone.jsonl")]
    name, target = "agents/main/sessions/a.jsonl", "transcript_events"
    key = migration_runs.compute_source_key(str(old), name, 7, 8, "ab", target)
    about = {"source_path": name, "target_table": target, "mtime_ns": 7, "source_size_bytes": 8, "source_sha256": "ab"}
    about |= {"migration_kind": "transcript", "status": "imported", "root": str(old), "last_run": made}
    migration_runs.save_sources([*rows, MigrationSource(source_key=key, **about)])
    run(new, moved_from=str(old))
    assert migration_runs.find_ignored_sessions(new.root) == {"main": {"gone"}}
    again = MigrationRun.objects.get()
    assert {row.source_key for row in MigrationSource.objects.all()} == {
        ignored_sessions._build_row(again, "main", "gone", "x").source_key,
        migration_runs.compute_source_key(str(new.root), name, 7, 8, "ab", target),
    }


def test_what_is_no_move_is_refused(moved, tmp_path):
    old, new, _path = moved
    before = find_rows_of(old)
    with pytest.raises(Refused, match=f"Nothing was imported from /not/there. Imported folders: {old}."):
        run(new, moved_from="/not/there")
    with pytest.raises(Refused, match=r"Nothing was imported from .*~no-such-user"):
        run(new, moved_from="~no-such-user")
    other = Home(tmp_path / "other", agents=("research",))
    other.transcript(user("Hello"), assistant("Hello"), agent="research")
    with pytest.raises(Refused, match="has none of the agents"):
        run(other, moved_from=str(old))
    shutil.copytree(new.root, old)
    with pytest.raises(Refused, match="There is still an OpenClaw folder"):
        run(new, moved_from=str(old))
    assert len(find_rows_of(old)) == len(before) and not find_rows_of(new.root)
    shutil.rmtree(old)
    notes = run(new, moved_from=str(old))["notes"]
    assert not any("was not checked" in note for note in notes)
    with pytest.raises(Refused, match="is already imported"):
        run(new, moved_from=str(new.root))


@pytest.mark.parametrize("spelling", ["{old}/", "{old}/../{name}", "{relative}"])
def test_the_old_path_may_be_spelled_in_other_ways(moved, tmp_path, monkeypatch, spelling):
    old, new, _path = moved
    monkeypatch.chdir(new.root)
    relative = os.path.relpath(old, new.root)
    assert run(new, moved_from=spelling.format(old=old, name=old.name, relative=relative))["records"] == 0
    assert not find_rows_of(old) and find_rows_of(new.root)


def test_the_folder_may_have_two_names(moved):
    """A bind mount, or a link: the folder at the old path is the same one."""
    old, new, _path = moved
    old.symlink_to(new.root)
    assert run(new)["records"] == 0  # a link is followed: no move is needed
