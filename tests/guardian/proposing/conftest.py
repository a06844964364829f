import pytest

from agents.models import CollectorSource
from guardian.rollbacks import exchanging
from openclaw_web.llm import client
from people.configuration import keys as configuration
from tests.llm_endpoint import Endpoint

from .proposed import writes


@pytest.fixture
def workspace(ada, settings, tmp_path, monkeypatch):
    """The workspace of ada, which this site may write to; nobody waits for late writers."""
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
    (root / "workspace-ada" / "USER.md").write_bytes(b"# User\n\n- Lives in Bonn.\n")
    return root / "workspace-ada"


@pytest.fixture
def guardian_on(db):
    """Settings with which facts are sent, but for the address of an endpoint."""
    configuration.put("writeGuardian.enabled", True)
    configuration.put("llm.model", "small")


@pytest.fixture
def endpoint(settings, guardian_on, monkeypatch):
    """An endpoint that reads and then writes, unless it is told to go on otherwise; attempts follow without a pause."""
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.0)
    with Endpoint(*writes()) as endpoint:
        settings.LLM_API_URL, settings.LLM_API_KEY = endpoint.url, "sk-test"
        yield endpoint
