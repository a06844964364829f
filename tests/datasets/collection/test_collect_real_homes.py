"""Collecting from homes that the real program wrote, behind imports."""

import pytest

from agents.models import Agent
from collecting import collect as imports
from datasets.collection import runs
from datasets.models import DatasetSample, TurnOutcome
from jobs.progress import Progress
from ledger.models import ConversationTurn
from tests.collecting.test_collect_real_homes import HOMES
from tests.datasets.collection.collecting import collect, collect_new, save

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not HOMES.exists(), reason="the recorded homes are not on this machine"),
]


@pytest.mark.parametrize("name", ["openclaw-2026.2.26", "openclaw-2026.9.6"])
def test_no_turn_of_a_real_home_is_without_a_reason(real_files, name):
    params = {"source": str(HOMES / name), "include_deleted": True}
    save(turns=True)
    imports.run(params, Progress())
    first = collect_new()
    turns = sum(ConversationTurn.objects.using(agent.db).count() for agent in Agent.objects.all())
    assert first["turns"] == turns == TurnOutcome.objects.count() > 0
    assert first["samples"] + sum(first["reasons"].values()) == turns
    assert DatasetSample.objects.count() == first["samples"] > 0
    imports.run(params, Progress())
    assert collect_new()["turns"] == 0
    again = runs.build_funnel(collect())
    assert (again["samples"], again["reasons"]["already"]) == (0, first["samples"])
