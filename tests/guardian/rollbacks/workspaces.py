"""A workspace of the agent ada that this site may write to."""

from agents.models import CollectorSource
from guardian.rollbacks import apply


def open_workspace(ada, settings, tmp_path, monkeypatch):
    """Create the workspace and return its folder; rollbacks do not wait for late writers."""
    root = tmp_path.resolve() / "openclaw"
    for folder in ("agents/ada/sessions", "workspace-ada"):
        (root / folder).mkdir(parents=True)
    (root / "openclaw.json").write_text("{}")
    allow_writes(ada, settings, tmp_path, monkeypatch, "agents/ada")
    return root / "workspace-ada"


def allow_writes(ada, settings, tmp_path, monkeypatch, path):
    """Let this site write to ada's workspace in the OpenClaw home below a folder."""
    root = tmp_path.resolve() / "openclaw"
    CollectorSource.objects.create(source_key="k", kind="agent", root=str(root), path=path, agent_id="ada")
    ada.home_name = "ada"
    ada.save()
    (tmp_path / "home" / "state").mkdir(parents=True)
    settings.WORKSPACE_WRITES, settings.HOME_DIR = True, tmp_path / "home"
    monkeypatch.setattr(apply, "LOOKS", (0.0,))
