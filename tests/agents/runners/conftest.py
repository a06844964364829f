import pytest

from openclaw_web.llm import client
from people.configuration import setting_values as configuration
from tests.guardian.runner.conftest import workspace  # noqa: F401 - where its files are
from tests.llm_endpoint import Endpoint, fails


@pytest.fixture
def endpoint(settings, db, monkeypatch):
    """An endpoint that refuses the key, so that no request succeeds."""
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.0)
    for name, value in {"memoryGate.enabled": True, "writeGuardian.enabled": True, "llm.model": "small"}.items():
        configuration.put(name, value)
    with Endpoint(fails(401)) as endpoint:
        settings.LLM_API_URL, settings.LLM_API_KEY = endpoint.url, "sk-test"
        yield endpoint
