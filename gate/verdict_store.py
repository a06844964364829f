"""Copies people's verdicts on decisions from the samples into the gate's own tables.

Samples belong to `datasets`, which this app may not import.
"""

from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import Count, TextField, Value
from django.db.models.functions import Coalesce
from django.utils.module_loading import import_string

from agents.models import Agent
from openclaw_web.sqlite import failures

from .models import GateVerdictDay, GateVerdictsState, MemoryGateDecision

DAY_MS = 86_400_000
Verdict = MemoryGateDecision.Verdict


def refresh(agent: Agent) -> bool:
    """Copy verdicts given since the last call, and return whether everything is copied now.

    A page goes on with the verdicts it has while the agent's file cannot be written.
    """
    try:
        return _copy(agent)
    except OperationalError as exc:
        if failures.is_interrupted(exc):  # the time of the page is up
            raise
        return False


def copy_all(agent: Agent) -> None:
    """Copy all verdicts, in as many pieces as that takes.

    100,000 new verdicts take some seconds.
    """
    while not _copy(agent):
        pass


def _copy(agent):
    return bool(import_string(settings.GATE_VERDICTS)(agent))


def read_label_place(db: str) -> int:
    """Return the place of the last label that was copied; 0 before the first one."""
    return GateVerdictsState.objects.using(db).values_list("labels_read", flat=True).first() or 0


def store_verdicts(db: str, verdicts: dict[str, str | None], *, before: int, place: int) -> int:
    """Store the verdicts of decisions and their sums, and the `place` of the last label.

    A verdict of None removes one. Returns the place up to which labels are read now. When another process has read on
    from `before`, that is its place, and no verdict is stored.
    """
    with transaction.atomic(using=db):
        labels_place = read_label_place(db)
        if labels_place != before:
            return labels_place
        decisions, days = MemoryGateDecision.objects.using(db), set()
        changed: dict[str | None, list[str]] = {}
        for name, created_at, verdict in decisions.filter(id__in=verdicts).values_list("id", "created_at", "verdict"):
            if verdict != verdicts[name]:
                changed.setdefault(verdicts[name], []).append(name)
                days.add(created_at // DAY_MS * DAY_MS)
        for verdict, names in changed.items():
            decisions.filter(id__in=names).update(verdict=verdict)
        for day in days:
            _sum_day(db, day)
        GateVerdictsState.objects.using(db).update_or_create(id="verdicts", defaults={"labels_read": place})
    return place


def delete_all(db: str) -> None:
    """Delete all copies; they are made again from the first label."""
    with transaction.atomic(using=db):
        MemoryGateDecision.objects.using(db).filter(verdict__isnull=False).update(verdict=None)
        GateVerdictDay.objects.using(db).all().delete()
        GateVerdictsState.objects.using(db).all().delete()


def _sum_day(db, day):
    """Count the decisions of a day that have verdicts again."""
    rows = MemoryGateDecision.objects.using(db).filter(created_at__gte=day, created_at__lt=day + DAY_MS)
    model, prompt = (Coalesce(name, Value(""), output_field=TextField()) for name in ("llm_model", "prompt_version"))
    judged = rows.filter(verdict__isnull=False).order_by().annotate(model=model, prompt=prompt)
    counts = judged.values("decision", "verdict", "model", "prompt").annotate(number=Count("id"))
    GateVerdictDay.objects.using(db).filter(day=day).delete()
    columns = ("decision", "verdict", "llm_model", "prompt_version", "total")
    GateVerdictDay.objects.using(db).bulk_create(
        GateVerdictDay(day=day, **dict(zip(columns, row, strict=True)))
        for row in counts.values_list("decision", "verdict", "model", "prompt", "number")
    )
