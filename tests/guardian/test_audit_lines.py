"""The lines that a write left in its file, beside the write."""

import re

import pytest

from tests.guardian.write_rows import create_write
from tests.ledger.transcript_records import get_text

DB = "agent_ada"
pytestmark = pytest.mark.django_db


def test_a_write_leads_to_its_lines(as_stranger, ada):
    create_write(DB, 1, None, b"one\n" + b"two\n" * 30), create_write(DB, 2, b"one\n" + b"two\n" * 30, b"two\n" * 30)
    page = get_text(as_stranger.get("/agents/ada/writes/w1/"))
    assert 'href="/agents/ada/files/MEMORY.md/"' in page  # without JavaScript
    (address,) = re.findall(r'hx-get="(/agents/ada/writes/left/[^"]*)"', page)
    lines = get_text(as_stranger.get(address))
    assert "/agents/ada/files/MEMORY.md/?line=1#L1" in lines and "two</span>" in lines and "one" not in lines
    assert "10 more lines." in lines
    assert "No line of this write" in get_text(as_stranger.get("/agents/ada/writes/left/w2/"))
    assert as_stranger.get("/agents/ada/writes/left/nothing/").status_code == 404
