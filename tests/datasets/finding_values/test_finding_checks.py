"""The doctor's checks of found values, and their repair."""

import pytest

from datasets.finding_values import checks
from datasets.models import FindingValue, FindingValueAgent
from findings.models import Finding
from tests.datasets.finding_values.finding_rows import MAIL, MAIL_HASH, find

pytestmark = pytest.mark.django_db


@pytest.fixture
def stored(ada, bob):
    """An address in two agents' texts."""
    find(ada, "s", 1, f"Write to {MAIL} today", MAIL)
    find(bob, "t", 1, f"Mail {MAIL}", MAIL)


def find_wrong():
    return [list(check.find("default")) for check in checks.CHECKS if check.name != "sample_privacy"]


def lose_value():
    FindingValue.objects.all().delete()


def change_places():
    FindingValueAgent.objects.filter(agent_id="bob").update(places=7)


def lose_findings():
    Finding.objects.using("agent_ada").all().delete()


def lose_agent():
    FindingValueAgent.objects.filter(agent_id="ada").delete()


@pytest.mark.parametrize(
    "damage, wrong",
    [
        (lose_value, [[], [MAIL_HASH]]),
        (change_places, [[f"{MAIL_HASH} (bob)"], [MAIL_HASH]]),
        (lose_findings, [[f"{MAIL_HASH} (ada)"], []]),
        (lose_agent, [[f"{MAIL_HASH} (ada)"], [MAIL_HASH]]),
    ],
)
def test_differences_are_found_and_repaired(stored, damage, wrong):
    assert find_wrong() == [[], []]
    damage()
    assert find_wrong() == wrong
    checks.repair(None)
    assert find_wrong() == [[], []]
