"""The global summary of found values, kept equal to the findings in the agents' files."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.db.models import Count, Min, QuerySet, Sum

from agents import databases
from agents.models import Agent
from findings.models import Finding
from openclaw_web.batches import in_batches
from openclaw_web.sqlite import write_queue

from ..models import FindingValue, FindingValueAgent
from .decisions import Decisions, read_decisions, to_state

BATCH = 300  # values in one transaction
READ = 2_000
COLUMNS = ("state", "decided_by", "decided_at")  # that follow from verdicts


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value in one agent's file: its number of places, and its first finding."""

    places: int
    first: Finding


def refresh(agent_id: str, db: str, value_hashes: Collection[str]) -> None:
    """Count these values of one agent again; settings.FINDING_SUMMARY names this function.

    `db` is the alias of the agent's file. Opens its own transactions on the global file.
    """
    for batch in in_batches(dict.fromkeys(value_hashes), BATCH):
        with write_queue.global_transaction():
            _store_counts(agent_id, _count_values(db, batch), batch, read_decisions(batch))


def rebuild() -> int:
    """Build the summary of every agent again; return how many values were counted.

    Values that no file has any more are removed.
    """
    counted = 0
    for agent in Agent.objects.order_by("agent_id"):
        db = databases.find_alias(agent.agent_id)
        if db is None:
            continue
        for batch in in_batches(_read_hashes(agent, db), BATCH):
            refresh(agent.agent_id, db, batch)
            counted += len(batch)
    return counted


def _count_values(db: str, value_hashes: Collection[str]) -> dict[str, FoundValue]:
    """Count the places of these values in an agent's file; values without places are left out."""
    rows = Finding.objects.using(db).filter(value_hash__in=value_hashes).order_by()
    counts = {row["value_hash"]: row for row in rows.values("value_hash").annotate(n=Count("*"), first=Min("id"))}
    firsts = Finding.objects.using(db).in_bulk([row["first"] for row in counts.values()])
    return {name: FoundValue(row["n"], firsts[row["first"]]) for name, row in counts.items()}


def _read_hashes(agent: Agent, db: str) -> Iterator[str]:
    """Every value of the file and of the agent's counts; a value may come twice."""
    noted = FindingValueAgent.objects.filter(agent_id=agent.agent_id)
    for rows in (Finding.objects.using(db).all(), noted):
        last, names = "", rows.order_by("value_hash").values_list("value_hash", flat=True).distinct()
        while part := list(names.filter(value_hash__gt=last)[:READ]):
            yield from part
            last = part[-1]


def set_states(rows: QuerySet[FindingValue], decisions: Decisions) -> int:
    """Set state, person and time of a few values from the verdicts in force; return how many; in a transaction."""
    values = list(rows)
    for value in values:
        _set_state(value, decisions)
    FindingValue.objects.bulk_update(values, COLUMNS)
    return len(values)


def follow_rule(rule: str) -> None:
    """Set the states of all values of a rule, in short transactions: everybody who labels waits for them."""
    last = ""
    rows = FindingValue.objects.filter(rule=rule).order_by("value_hash")
    while names := list(rows.filter(value_hash__gt=last).values_list("value_hash", flat=True)[:BATCH]):
        with write_queue.global_transaction():
            set_states(FindingValue.objects.filter(value_hash__in=names), read_decisions(names))
        last = names[-1]


def _set_state(value, decisions):
    judgment = decisions.find_judgment(value.rule, value.value_hash)
    value.state = to_state(judgment.verdict)
    value.decided_by, value.decided_at = judgment.by or None, judgment.at or None


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
        value = stored.get(name) or _build_value(counts[name].first)
        value.places, value.agents = row["total"], row["n"]
        if name in counts:
            value.first_found_at = min(value.first_found_at, counts[name].first.found_at)
        _set_state(value, decisions)
        changed.append(value)
    FindingValue.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["value_hash"],
        update_fields=["places", "agents", "first_found_at", *COLUMNS],
    )


def _build_value(first):
    return FindingValue(
        value_hash=first.value_hash,
        kind=first.kind,
        rule=first.rule,
        confidence=first.confidence,
        first_found_at=first.found_at,
    )
