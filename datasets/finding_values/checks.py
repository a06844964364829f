"""The doctor's checks of found values: the summary must equal the findings in the agents' files."""

from collections.abc import Iterator
from heapq import merge
from itertools import groupby

from django.db.models import Count, Exists, F, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from agents import databases
from agents.models import Agent
from findings.finding_store import SUMMED
from findings.models import Finding, FindingScan
from openclaw_web.sqlite.integrity import DIFFERENT, Check

from ..models import FindingValue, FindingValueAgent
from . import sample_privacy
from .summary import rebuild

CHUNK = 2_000
SAMPLED, DEEPLY_SAMPLED = 200, 5_000  # newest samples that are searched again


def find_wrong_counts(_db: str) -> Iterator[str]:
    """Yield the values whose number of places in an agent's texts differs from that agent's file."""
    for agent_id in Agent.objects.order_by("agent_id").values_list("agent_id", flat=True):
        if db := databases.find_alias(agent_id):
            for value_hash in _compare(agent_id, db):
                yield f"{value_hash} ({agent_id})"


def find_wrong_sums(_db: str) -> Iterator[str]:
    """Yield the values whose sums differ from the counts, and counts without a value."""
    own = FindingValueAgent.objects.filter(value_hash=OuterRef("value_hash")).order_by().values("value_hash")
    sums = FindingValue.objects.annotate(
        counted=Coalesce(Subquery(own.annotate(n=Sum("places")).values("n")), 0),
        holding=Coalesce(Subquery(own.annotate(n=Count("*")).values("n")), 0),
    )
    wrong = sums.exclude(counted=F("places"), holding=F("agents")).order_by("value_hash")
    yield from wrong.values_list("value_hash", flat=True).iterator(chunk_size=CHUNK)
    value = FindingValue.objects.filter(value_hash=OuterRef("value_hash"))
    without = (
        FindingValueAgent.objects.filter(~Exists(value)).order_by("value_hash").values_list("value_hash", flat=True)
    )
    yield from without.distinct().iterator(chunk_size=CHUNK)


def repair(_agent: Agent | None) -> int:
    """Count all values again; return how many."""
    return rebuild()


def find_outdated_samples(_db: str, most: int = SAMPLED) -> Iterator[str]:
    """Yield samples whose columns do not follow from findings and verdicts, among the newest.

    None while a job that sets them is waiting or under way.
    """
    if not (sample_privacy.is_check_needed() or sample_privacy.is_under_way()):
        yield from sample_privacy.find_outdated(most)


def _compare(agent_id, db):
    """The values of an agent whose counts differ.

    Those that the scan has yet to report are left out.
    """
    counted = Finding.objects.using(db).order_by("value_hash").values_list("value_hash").annotate(n=Count("id"))
    noted = (
        FindingValueAgent.objects.filter(agent_id=agent_id).order_by("value_hash").values_list("value_hash", "places")
    )
    position = FindingScan.objects.using(db).filter(source=SUMMED).values_list("position", flat=True).first()
    rows = merge(counted.iterator(chunk_size=CHUNK), noted.iterator(chunk_size=CHUNK))
    for value_hash, pairs in groupby(rows, key=lambda row: row[0]):
        counts = [count for _name, count in pairs]
        if len(counts) == 2 and counts[0] == counts[1]:
            continue
        newer = Finding.objects.using(db).filter(value_hash=value_hash, id__gt=int(position or 0))
        if position is None or not newer.exists():
            yield value_hash


CHECKS = (
    Check(
        name="finding_counts",
        sentence=DIFFERENT,
        target=_("the findings of the agents"),
        find=find_wrong_counts,
        repair=repair,
        is_last=True,
    ),
    Check(
        name="finding_sums",
        sentence=DIFFERENT,
        target=_("the findings of the agents"),
        find=find_wrong_sums,
        repair=repair,
        is_last=True,
    ),
    Check(
        name="sample_privacy",
        sentence=DIFFERENT,
        noun="samples",
        target=_("the findings and verdicts"),
        find=find_outdated_samples,
        find_deep=lambda db: find_outdated_samples(db, DEEPLY_SAMPLED),
        repair=lambda _agent: sample_privacy.refresh_all(),
        is_last=True,
    ),
)
