import pytest

from openclaw_web.llm import client
from people.configuration import setting_values as configuration
from tests.guardian.rollbacks.workspaces import open_workspace
from tests.llm_endpoint import Endpoint

from .proposal_rows import writes


@pytest.fixture
def workspace(ada, settings, tmp_path, monkeypatch):
    """The workspace of ada, which this site may write to; nobody waits for late writers."""
    folder = open_workspace(ada, settings, tmp_path, monkeypatch)
    (folder / "USER.md").write_bytes(b"# User\n\n- Lives in Bonn.\n")
    return folder


@pytest.fixture
def guardian_on(db):
    """Settings with which facts are sent, but for the address of an endpoint."""
    configuration.put("writeGuardian.enabled", True)
    configuration.put("llm.model", "small")


@pytest.fixture
def endpoint(settings, guardian_on, monkeypatch):
    """An endpoint that reads and then writes, unless a test scripts other answers.

    Attempts follow each other without a pause.
    """
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.0)
    with Endpoint(*writes()) as endpoint:
        settings.LLM_API_URL, settings.LLM_API_KEY = endpoint.url, "sk-test"
        yield endpoint
