"""Import of the artifacts folder of the existing tool: complete, and every content is readable."""

import json
from pathlib import Path

import pytest

from artifacts.excerpts import content_fetch
from artifacts.excerpts.selectors import Selector
from artifacts.models import Artifact
from artifacts.store import blobs, folder_import, layout, verification

SOURCE = Path(__file__).resolve().parents[4] / "shared" / "data" / "openclaw-mem"
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not SOURCE.exists(), reason="the recorded store is not on this machine"),
]
DB = "agent_ada"


def files(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_every_artifact_is_taken_over_and_can_be_fetched(root):
    before = files(SOURCE)
    metas = [json.loads(path.read_text()) for path in SOURCE.glob("openclaw-mem/artifacts/meta/sha256/*/*/*.json")]
    result = folder_import.import_folder(DB, SOURCE)
    assert (result.imported, result.known, result.problems) == (len(metas), 0, [])
    assert metas
    for meta in metas:
        row = Artifact.objects.using(DB).get(handle=meta["handle"])
        peeked = content_fetch.peek(DB, meta["handle"])
        assert {name: peeked[name] for name in ("sha256", "bytes", "createdAt", "kind", "meta")} == {
            name: meta[name] for name in ("sha256", "bytes", "createdAt", "kind", "meta")
        }
        assert len(blobs.read_whole(root, row.sha256, expected=row.bytes)) == meta["bytes"]
        answer = content_fetch.fetch(DB, meta["handle"], Selector(max_chars=800))
        assert len(answer.text) <= 800
    assert verification.verify(verification.list_all_contents(DB)).problems == []
    assert folder_import.import_folder(DB, SOURCE).known == len(metas)
    assert files(SOURCE) == before
    assert (layout.get_root() / "blobs").is_dir()
