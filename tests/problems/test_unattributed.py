"""Problems about changes of memory files that nobody reported."""

import pytest

from guardian.models import WriteGuardianAudit
from openclaw_web import clock

from .check_results import check

DAY_MS = 86_400_000
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("proven")]


def create_change(number, days_ago, **columns):
    values = {"origin": "unattributed", "status": "written", "target_file": "MEMORY.md"} | columns
    at = clock.now_ms() - days_ago * DAY_MS
    WriteGuardianAudit.objects.using("agent_ada").create(id=f"u{number}", created_at=at, **values)


def test_recent_changes_are_told_of(as_operator, ada):
    create_change(1, 1), create_change(2, 6), create_change(3, 8)
    assert check() == ["2 changes to memory files of ada in the last 7 days have no known author."]
    assert "/agents/ada/writes/?segment=unattributed&amp;from=" in as_operator.get("/operations/").text


def test_what_is_known_or_was_taken_back_is_not(ada):
    (
        create_change(1, 1, reason="consolidation"),
        create_change(2, 1, status="rolled_back"),
        create_change(3, 1, origin="imported"),
    )
    assert check() == []


def test_many_are_not_counted_on(ada):
    for number in range(105):
        create_change(number, 1)
    assert check() == ["100+ changes to memory files of ada in the last 7 days have no known author."]
