"""A workspace that this site may write to, for tests of rollbacks."""

from pathlib import Path

import pytest

from tests.guardian.rollbacks.workspaces import open_workspace


@pytest.fixture
def file(ada, settings, tmp_path, monkeypatch) -> Path:
    """The MEMORY.md of ada; rollbacks do not wait for late writers."""
    return open_workspace(ada, settings, tmp_path, monkeypatch) / "MEMORY.md"
