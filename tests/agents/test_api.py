"""The API of agents."""

import pytest

from agents.models import AgentDatabase

pytestmark = pytest.mark.django_db


def test_it_works(as_admin, ada, bob):
    AgentDatabase.objects.create(agent=ada, path="x", schema_version=4, size_bytes=8192)
    items = as_admin.get("/api/v1/agents").json()["items"]
    assert [(item["agent_id"], item["schema_version"]) for item in items] == [("ada", 4), ("bob", None)]
    answer = as_admin.get("/api/v1/agents/ada")
    assert (
        answer.json()["agent_id"] == "ada" and "openclaw-agent.sqlite" not in answer.text
    )  # paths of files are not disclosed
