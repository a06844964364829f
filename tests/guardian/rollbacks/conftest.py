"""A workspace that this site may write to, for tests of rollbacks."""

from pathlib import Path

import pytest

from agents.models import CollectorSource
from guardian.rollbacks import exchanging


@pytest.fixture
def file(ada, settings, tmp_path, monkeypatch) -> Path:
    """The MEMORY.md of ada; nobody waits for late writers."""
    root = tmp_path.resolve() / "openclaw"
    for folder in ("agents/ada/sessions", "workspace-ada"):
        (root / folder).mkdir(parents=True)
    (root / "openclaw.json").write_text("{}")
    CollectorSource.objects.create(source_key="k", kind="agent", root=str(root), path="agents/ada", agent_id="ada")
    ada.home_name = "ada"
    ada.save()
    (tmp_path / "home" / "state").mkdir(parents=True)
    settings.WORKSPACE_WRITES, settings.HOME_DIR = True, tmp_path / "home"
    monkeypatch.setattr(exchanging, "LOOKS", (0.0,))
    return root / "workspace-ada" / "MEMORY.md"
