"""The global summary of found values, kept equal to the findings in the agents' files."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from django.db.models import Count, Min, Sum

from agents import databases
from agents.models import Agent
from findings import services as findings
from findings.models import Finding
from openclaw_web.sqlite import write_queue

from ..models import FindingValue, FindingValueAgent
from . import state_copies
from .decisions import Decisions, read_decisions

BATCH = 300  # values in one pair of transactions
READ = 2_000


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value in one agent's file: its number of places, and its first finding."""

    places: int
    first: Finding


def refresh(agent_id: str, db: str, value_hashes: Collection[str]) -> None:
    """Count these values of one agent again; settings.FINDING_SUMMARY names this function.

    `db` is the alias of the agent's file. Verdicts given before are copied to places that are new. Opens its own
    transactions on both files, the agent's first.
    """
    names = iter(dict.fromkeys(value_hashes))
    while batch := list(islice(names, BATCH)):
        decisions = read_decisions(batch)
        with write_queue.both_transactions(db):
            _store_counts(agent_id, count_values(db, batch), batch, decisions)
            state_copies.copy_to_values(agent_id, db, batch, decisions)


def rebuild() -> int:
    """Build the summary of every agent again; return how many values were counted.

    Values that no file has any more are removed.
    """
    counted = 0
    for agent in Agent.objects.order_by("agent_id"):
        db = databases.find_alias(agent.agent_id)
        if db is None:
            continue
        names = _read_hashes(agent, db)
        while batch := list(islice(names, BATCH)):
            refresh(agent.agent_id, db, batch)
            counted += len(batch)
    return counted


def count_values(db: str, value_hashes: Collection[str]) -> dict[str, FoundValue]:
    """Count the places of these values in an agent's file; values without places are left out."""
    rows = Finding.objects.using(db).filter(value_hash__in=value_hashes).order_by()
    counts = {row["value_hash"]: row for row in rows.values("value_hash").annotate(n=Count("*"), first=Min("id"))}
    firsts = Finding.objects.using(db).in_bulk([row["first"] for row in counts.values()])
    return {name: FoundValue(row["n"], firsts[row["first"]]) for name, row in counts.items()}


def _read_hashes(agent: Agent, db: str) -> Iterator[str]:
    """Every value of the file and of the agent's counts; a value may come twice."""
    yield from findings.iterate_values(db)
    last = ""
    own = FindingValueAgent.objects.filter(agent_id=agent.agent_id).order_by("value_hash")
    while part := list(own.filter(value_hash__gt=last).values_list("value_hash", flat=True)[:READ]):
        yield from part
        last = part[-1]


def _store_counts(agent_id, counts: dict[str, FoundValue], value_hashes, decisions: Decisions):
    rows = FindingValueAgent.objects.filter(agent_id=agent_id, value_hash__in=value_hashes)
    rows.exclude(value_hash__in=list(counts)).delete()
    FindingValueAgent.objects.bulk_create(
        [FindingValueAgent(value_hash=name, agent_id=agent_id, places=value.places) for name, value in counts.items()],
        update_conflicts=True,
        unique_fields=["value_hash", "agent_id"],
        update_fields=["places"],
    )
    totals = FindingValueAgent.objects.filter(value_hash__in=value_hashes).values("value_hash")
    sums = {row["value_hash"]: row for row in totals.annotate(total=Sum("places"), n=Count("*")).order_by()}
    stored = FindingValue.objects.in_bulk(list(value_hashes))
    FindingValue.objects.filter(value_hash__in=[name for name in stored if name not in sums]).delete()
    changed = []
    for name, row in sums.items():
        value = stored.get(name) or _build_value(name, counts[name].first)
        value.places, value.agents = row["total"], row["n"]
        if name in counts:
            value.first_found_at = min(value.first_found_at, counts[name].first.found_at)
        state_copies.set_state(value, decisions)
        changed.append(value)
    FindingValue.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["value_hash"],
        update_fields=["places", "agents", "first_found_at", *state_copies.COLUMNS],
    )


def _build_value(name, first: Finding):
    return FindingValue(
        value_hash=name,
        kind=first.kind,
        rule=first.rule,
        confidence=first.confidence,
        first_found_at=first.found_at,
    )
