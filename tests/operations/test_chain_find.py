"""A row that somebody has leads to its chain."""

import hashlib

import pytest

from datasets.exports import exports
from search import fill
from tests.operations.chain_links import create_links

pytestmark = pytest.mark.django_db


def test_a_row_is_found_by_its_hash_its_text_and_its_words(real_files, ada, as_admin):
    linked = create_links()
    (real_files / "agents" / "ada" / "agent").mkdir(parents=True)
    fill.fill_all()
    (file,) = exports.folder_of(linked["export"]).glob("ocl_*.train.jsonl")
    line = file.read_bytes().splitlines()[0]
    address = f"/chain/row/{linked['export'].id}:train:1/"
    for text in (hashlib.sha256(line).hexdigest(), line.decode()):
        assert address in as_admin.get("/chain/", {"row": text}).content.decode()
        assert address in as_admin.post("/chain/", {"row": text}).content.decode()
    assert "/chain/sample/x1/" in as_admin.get("/chain/", {"row": "Answer 1"}).content.decode()
    assert "No row of an export is that" in as_admin.get("/chain/", {"row": "0" * 64}).content.decode()
    assert as_admin.get("/chain/", {"row": "!!!"}).status_code == 200
