"""Stashing and reading back: services, files and rows."""

import gzip
import hashlib
import io
import json
import os
import stat
import threading
from pathlib import Path

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from artifacts import services
from artifacts.models import Artifact
from artifacts.services import Place
from artifacts.store import blobs, layout, locks
from artifacts.store.content_writer import WriteGroup
from openclaw_web.errors import Refused

pytestmark = pytest.mark.django_db
DB = "agent_ada"


def read_content(root, handle):
    with blobs.open_blob(root, handle[-64:]) as blob:
        return b"".join(blob.chunks())


def files(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_it_works(root):
    row, stored = services.stash(DB, "one\ntwo\n", kind="note", meta={"tool": "exec"})
    digest = hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert row.handle == stored.handle == f"ocm_artifact:v1:sha256:{digest}"
    assert read_content(root, row.handle) == b"one\ntwo\n"
    artifact = Artifact.objects.using(DB).get()
    assert (artifact.bytes, artifact.chars, artifact.lines, artifact.content_type) == (8, 8, 2, "text/plain")
    assert (artifact.kind, artifact.preview, artifact.summary) == ("note", "one\ntwo\n", "text · 8 bytes · 2 lines")


def test_the_metadata_file_is_the_existing_tools(root):
    _row, stored = services.stash(DB, b"x" * 1000, kind="json", meta={"tool": "web_fetch"}, is_compressed=True)
    about = json.loads((root / layout.meta_name(stored.sha256)).read_text())
    assert about == {
        "schema": "openclaw-mem.artifact.meta.v1",
        "handle": stored.handle,
        "sha256": stored.sha256,
        "bytes": 1000,
        "storedBytes": stored.stored_bytes,
        "compression": "gzip",
        "blob": f"blobs/sha256/{stored.sha256[:2]}/{stored.sha256[2:4]}/{stored.sha256}.txt.gz",
        "createdAt": stored.created_at,
        "kind": "json",
        "meta": {"tool": "web_fetch"},
    }
    assert len(stored.created_at) == len("2026-11-21T03:10:33.041418+00:00")
    packed = (root / about["blob"]).read_bytes()
    assert gzip.decompress(packed) == b"x" * 1000
    assert len(packed) == stored.stored_bytes


def test_the_same_bytes_are_packed_the_same(root, tmp_path):
    packed = []
    for name in ("a", "b"):
        (tmp_path / name / "tmp").mkdir(parents=True)
        group = WriteGroup(tmp_path / name)
        stored, _measured = group.add([b"log line\n" * 500], kind="k", meta={}, is_compressed=True)
        group.publish()
        packed.append((tmp_path / name / layout.blob_name(stored.sha256, is_compressed=True)).read_bytes())
    assert packed[0] == packed[1]


def test_the_same_content_is_one_blob_and_a_row_for_each_place(root):
    first, _stored = services.stash(DB, "same", meta={"n": 1}, place=Place("s1", record_id="r1"))
    again, stored = services.stash(DB, "same", meta={"n": 2}, place=Place("s2", record_id="r9"), is_compressed=True)
    assert len([name for name in files(root) if name.startswith("blobs/")]) == 1
    assert (stored.is_new, stored.meta, stored.is_compressed, again.is_compressed) == (False, {"n": 1}, False, False)
    assert Artifact.objects.using(DB).filter(handle=first.handle).count() == 2
    services.stash(DB, "same", meta={"n": 2}, place=Place("s2", record_id="r9"))
    assert Artifact.objects.using(DB).count() == 2


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o377])
def test_nobody_else_may_read_whatever_the_umask(root, mask):
    before = os.umask(mask)
    try:
        services.stash(DB, "private", is_compressed=True)
    finally:
        os.umask(before)
    for path in [root, *root.rglob("*")]:
        expected_mode = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected_mode, path


def test_a_stream_is_stashed_without_being_held(root):
    chunks = [b"%09d\n" % number * 100_000 for number in range(5)]
    row, _stored = services.stash(DB, io.BytesIO(b"".join(chunks)))
    assert (row.bytes, row.lines) == (5_000_000, 500_000)
    assert read_content(root, row.handle) == b"".join(chunks)


def test_many_are_stashed_together(root, django_assert_max_num_queries):
    with django_assert_max_num_queries(15, using=DB), services.open_stash_batch(DB) as batch:
        rows = [batch.add(f"output {number}", place=Place("s", record_id=str(number)))[0] for number in range(600)]
    assert Artifact.objects.using(DB).count() == 600
    assert read_content(root, rows[-1].handle) == b"output 599"
    assert not list((root / "tmp").iterdir())


def test_two_of_a_kind_in_one_batch_are_one_blob(root):
    with services.open_stash_batch(DB) as batch:
        for number in range(3):
            batch.add("twin", place=Place("s", record_id=str(number)), is_compressed=number == 1)
    assert len([name for name in files(root) if name.startswith("blobs/")]) == 1
    assert {row.is_compressed for row in Artifact.objects.using(DB)} == {False}


def test_a_callers_transaction_that_fails_leaves_no_rows(root):
    with pytest.raises(ZeroDivisionError), services.open_stash_batch(DB) as batch, transaction.atomic(using=DB):
        batch.add("never mind")
        batch.save()
        raise ZeroDivisionError
    assert not Artifact.objects.using(DB).exists()


def test_a_block_that_fails_leaves_nothing(root):
    with pytest.raises(ZeroDivisionError), services.open_stash_batch(DB) as batch:
        batch.add("never mind")
        raise ZeroDivisionError
    assert not Artifact.objects.using(DB).exists()
    assert files(root) == [".adopting.lock"]


def test_threads_that_stash_the_same_bytes_make_one_blob(root):
    contents = [b"shared %d" % number * 100 for number in range(20)]

    def work(seed):
        for content in contents:
            with locks.hold_adoption_lock(root):
                group = WriteGroup(root)
                group.add([content], kind=f"k{seed}", meta={"seed": seed}, is_compressed=bool(seed % 2))
                group.publish()

    threads = [threading.Thread(target=work, args=[seed]) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for content in contents:
        digest = hashlib.sha256(content).hexdigest()
        assert read_content(root, digest) == content
        names = [name for name in files(root) if digest in name]
        assert len(names) == 2, names
        about = blobs.read_meta(root, digest)
        assert about["blob"] in names
    assert not list((root / "tmp").iterdir())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"meta": {"x": "y" * 9000}}, "Put content into the artifact instead"),
        ({"meta": {"x": object()}}, "JSON object"),
        ({"meta": ["x"]}, "JSON object"),
        ({"kind": ""}, "kind"),
        ({"kind": "k" * 101}, "kind"),
        ({"kind": "a\nb"}, "kind"),
    ],
)
def test_metadata_is_small_and_plain(root, options, sentence):
    with pytest.raises(Refused, match=sentence):
        services.stash(DB, "content", **options)
    assert not Artifact.objects.using(DB).exists()


def test_removing_forgets_every_use_and_keeps_the_blob(root):
    row, _stored = services.stash(DB, "x", place=Place("s1"))
    services.stash(DB, "x", place=Place("s2"))
    assert services.remove(DB, row.handle) == 2
    assert read_content(root, row.handle) == b"x"
    with pytest.raises(Refused):
        services.remove(DB, row.handle)


@given(st.binary(max_size=5000), st.booleans(), st.integers(1, 700))
def test_whatever_goes_in_comes_out(content, is_compressed, size):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "tmp").mkdir()
        group = WriteGroup(root)
        chunks = [content[place : place + size] for place in range(0, len(content), size)]
        stored, measured = group.add(chunks, kind="k", meta={}, is_compressed=is_compressed)
        group.publish()
        assert read_content(root, stored.handle) == content
        text = content.decode("utf-8", "replace")
        assert (measured.bytes, measured.chars) == (len(content), len(text))
        assert measured.lines == text.count("\n") + (bool(text) and not text.endswith("\n"))
