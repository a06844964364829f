"""Regression sets: verdicts of people in force, stored as a version that models are tested with."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue
from people.audit import log

from .. import verdict_store
from ..models import RegressionSet

GATE, GUARDIAN = PARTS = ("gate", "guardian")


def find_sets(db: str, part: str) -> QuerySet[RegressionSet]:
    """Return the versions of a part, the newest first."""
    return RegressionSet.objects.using(db).filter(part=part).order_by("-number")


def get_set(db: str, part: str, number: int) -> RegressionSet:
    """Return a version. Raises Refused where there is none."""
    if row := find_sets(db, part).filter(number=number).first():
        return row
    raise Refused(_("This agent has no version %(number)s of the regression set.") % {"number": number})


def read_right_decisions(agent: Agent) -> dict[str, str]:
    """Return the right decision of each decision that people judged, where somebody said it."""
    verdict_store.copy_all(agent)
    return import_string(settings.RIGHT_DECISIONS)(agent)


def choose_set(
    agent: Agent, part: str, cases: Mapping[str, Any], *, by: str, number: int | None = None, is_stored: bool = True
) -> RegressionSet:
    """Return the version with the number, else that of these cases, the verdicts in force.

    Without a number it is the newest version if that has the cases, else the next one, which is stored with
    `is_stored`. Raises Refused without cases.
    """
    if number is not None:
        return get_set(agent.db, part, number)
    if not cases:
        raise Refused(_("There are no verdicts to test with. Judge decisions or writes first."))
    with write_queue.agent_transaction(agent.db):
        newest = find_sets(agent.db, part).first()
        if newest and newest.cases == cases:
            return newest
        row = RegressionSet(part=part, number=newest.number + 1 if newest else 1, created_by=by)
        row.id, row.created_at, row.cases = f"{part}-{row.number}", clock.now_ms(), dict(sorted(cases.items())[::-1])
        if is_stored:
            row.save(using=agent.db, force_insert=True)
    if is_stored:
        log.record(by, "regression_set_stored", object_type="agent", object_id=agent.agent_id, agent_id=agent.agent_id)
    return row
