"""The list of what an agent's databases keep beside sessions: a memory index, and files."""

import pytest

from ledger.models import IndexedFile, VfsEntry

STORED = "/agents/ada/stored/"
pytestmark = pytest.mark.django_db


def test_it_works(client):
    IndexedFile.objects.using("agent_ada").create(
        database="d", source="memory", path="MEMORY.md", chunk_count=12, size_bytes=4200
    )
    VfsEntry.objects.using("agent_ada").create(namespace="workspace", path="notes/today.md", bytes=17)
    page = client.get(STORED).text
    for words in ("MEMORY.md", "12", "4.2 kB"):
        assert words in page
    assert "notes/today.md" in client.get(STORED, {"kind": "files"}).text
    assert ">MEMORY.md<" not in client.get("/agents/bob/stored/").text
    assert "OpenClaw databases of" in page and "Background work of" not in page


def test_without_anything_it_says_what_will_be_here(client):
    for kind in ("", "flows", "deliveries", "files", "nonsense"):
        assert "Nothing here yet" in client.get(STORED, {"kind": kind}).text
