"""Garbage collection of the artifact store: used contents stay, remains of interrupted work are removed."""

import os
import threading

import pytest

from agents import databases
from agents import services as agents
from artifacts import services
from artifacts.models import Artifact
from artifacts.store import blobs, garbage, layout, locks
from openclaw_web.errors import Refused
from tests import faults

pytestmark = pytest.mark.django_db
DB = "agent_ada"


def stash(content, db=DB):
    return services.stash(db, content)[0].handle


def exists(root, handle):
    try:
        with blobs.open_blob(root, handle[-64:]):
            return True
    except Refused:
        return False


def forget(handle, db=DB):
    services.remove(db, handle)


def collect(*, is_dry_run=False, **options):
    result = garbage.GarbageResult(is_dry_run)
    garbage.collect(result, **options)
    return result


def test_it_works(root):
    unused_handle, kept_handle = stash(b"gone"), stash(b"kept")
    forget(unused_handle)
    result = collect()
    assert (result.removed, result.kept_count, result.removed_bytes > 4) == (1, 1, True)
    assert (exists(root, unused_handle), exists(root, kept_handle)) == (False, True)


def test_a_content_that_another_agent_uses_stays(root, bob):
    handle = stash(b"shared")
    stash(b"shared", db="agent_bob")
    forget(handle)
    assert collect().removed == 0
    forget(handle, db="agent_bob")
    assert collect().removed == 1


def test_others_may_keep_contents(root):
    checked_handles = []
    kept_handle, unused_handle = stash(b"in a sample"), stash(b"in nothing")
    forget(kept_handle)
    forget(unused_handle)
    result = collect(also_kept=lambda handles: [checked_handles.extend(handles), kept_handle][1:])
    assert (result.removed, result.kept_count) == (1, 1)
    assert set(checked_handles) == {kept_handle, unused_handle}
    assert exists(root, kept_handle)


def test_others_are_asked_again_just_before(root):
    answers = iter([[], [stash(b"mentioned late")]])
    forget(stash(b"mentioned late"))
    result = collect(also_kept=lambda handles: next(answers))
    assert (result.removed, result.kept_count) == (0, 1)


def test_what_cannot_be_removed_is_counted_as_kept(root, tmp_path):
    handles = [stash(b"%d" % number) for number in range(3)]
    for handle in handles:
        forget(handle)
    folder = root / "blobs" / "sha256" / handles[0][-64:][:2] / handles[0][-64:][2:4]
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    result = collect()
    assert (result.removed, result.kept_count) == (2, 1)
    assert list((tmp_path / "elsewhere").iterdir())


def test_only_old_ones_go(root):
    old, young = stash(b"old"), stash(b"young")
    for handle in (old, young):
        forget(handle)
    path = root / layout.blob_name(old[-64:], is_compressed=False)
    for name in (path, root / layout.meta_name(old[-64:])):
        os.utime(name, (0, 0))
    assert collect(older_than=3600).as_receipt()["young"] == 1
    assert (exists(root, old), exists(root, young)) == (False, True)


def test_using_a_content_again_makes_it_young(root):
    handle = stash(b"again")
    os.utime(root / layout.blob_name(handle[-64:], is_compressed=False), (0, 0))
    os.utime(root / layout.meta_name(handle[-64:]), (0, 0))
    stash(b"again")
    forget(handle)
    assert collect(older_than=3600).removed == 0


def test_a_dry_run_removes_nothing(root):
    handle = stash(b"x")
    forget(handle)
    (root / "tmp" / "draft").write_bytes(b"half")
    before = sorted(root.rglob("*"))
    assert collect(is_dry_run=True).removed == 1
    assert sorted(root.rglob("*")) == before


def test_what_died_half_way_is_cleaned(root):
    kept_handle = stash(b"kept")
    meta_only, blob_only = stash(b"meta only"), stash(b"blob only")
    forget(meta_only)
    forget(blob_only)
    (root / layout.blob_name(meta_only[-64:], is_compressed=False)).unlink()
    (root / layout.meta_name(blob_only[-64:])).unlink()
    (root / "tmp" / "123-abc").write_bytes(b"half a blo")
    result = collect()
    assert (result.removed, result.drafts) == (2, 1)
    file_names = [path.name for path in root.rglob("*") if path.is_file() and not path.name.startswith(".")]
    assert sorted(file_names) == [f"{kept_handle[-64:]}.json", f"{kept_handle[-64:]}.txt"]


def test_a_folder_of_drafts_that_is_a_link_is_not_emptied(root, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (root / "tmp").rename(elsewhere)
    (root / "tmp").symlink_to(elsewhere)
    (elsewhere / "somebody's").write_bytes(b"file")
    with pytest.raises(Refused, match="link"):
        collect()
    assert (elsewhere / "somebody's").exists()


def test_empty_folders_go_as_well(root):
    handle = stash(b"x")
    forget(handle)
    collect()
    assert not (root / "blobs" / "sha256" / handle[-64:][:2] / handle[-64:][2:4]).exists()
    stash(b"x")


def test_what_is_not_ours_is_left_alone(root):
    strange = root / "blobs" / "sha256" / "ab" / "cd"
    strange.mkdir(parents=True)
    (strange / "notes.txt").write_text("mine")
    (strange / ("f" * 64 + ".txt")).write_text("in the wrong folder")
    assert collect().removed == 0
    assert len(list(strange.iterdir())) == 2


def test_an_agent_whose_file_cannot_be_read_stops_it(root, real_files, settings):
    root = layout.get_root()
    agents.register("broken")
    handle = stash(b"perhaps of broken")
    forget(handle)
    databases.remove_alias("agent_broken")
    databases.get_path("broken").write_bytes(b"no database" * 100)
    with pytest.raises(Refused, match="Nothing was removed"):
        collect()
    assert exists(root, handle)


def test_an_agent_nobody_registered_counts_as_well(root, real_files):
    root = layout.get_root()
    agents.register("ghost")
    handle = stash(b"of a ghost", db="agent_ghost")
    from agents.models import Agent

    Agent.objects.filter(agent_id="ghost").delete()
    assert collect().removed == 0
    assert exists(root, handle)


def test_it_waits_for_whoever_is_adopting(root):
    handle = stash(b"adopted again")
    forget(handle)
    done = threading.Event()
    results = []

    def look():
        with locks.hold_clearing_lock(root):
            results.append(exists(root, handle))
        done.set()

    with services.open_stash_batch(DB) as batch:
        waiting = threading.Thread(target=look)
        waiting.start()
        batch.add(b"adopted again")
        assert not done.wait(0.2)
        batch.save()
        assert not done.is_set()
    waiting.join()
    assert collect().removed == 0
    assert exists(root, handle)


def test_a_content_adopted_after_the_references_were_read_stays(root):
    handle = stash(b"late")
    forget(handle)
    # References are read first; then it looks which contents there are.
    with faults.before_file_event("os.scandir", lambda path: path.startswith(str(root)), lambda: stash(b"late")):
        result = collect()
    assert (result.removed, result.kept_count + result.young) == (0, 1)
    assert exists(root, handle)
    assert Artifact.objects.using(DB).filter(handle=handle).exists()
