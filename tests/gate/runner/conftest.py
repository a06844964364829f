import pytest

from openclaw_web.llm import client
from people.configuration import setting_values as configuration
from tests.llm_endpoint import Endpoint

from .judged_turns import decides


@pytest.fixture
def gate_on(db):
    """Settings with which turns are sent, except for the address of an endpoint."""
    configuration.put("memoryGate.enabled", True)
    configuration.put("llm.model", "small")


@pytest.fixture
def endpoint(settings, gate_on, monkeypatch):
    """An endpoint that decides to write unless a test changes that; attempts follow without a pause."""
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.0)
    with Endpoint(decides()) as endpoint:
        settings.LLM_API_URL, settings.LLM_API_KEY = endpoint.url, "sk-test"
        yield endpoint
