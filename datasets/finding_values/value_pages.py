"""The places and verdicts of a value, the value itself, and the lag of the scan."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from agents import databases
from agents.models import Agent
from findings import places
from findings.models import Finding
from findings.scan import count_unscanned
from openclaw_web.lists.list_counts import RowCount, count_rows
from openclaw_web.lists.paging import Page, page_of
from openclaw_web.pages.formatting import number

from ..models import FindingValue, FindingValueAgent, FindingVerdict
from . import words

PLACES = 10  # on a page: all are read from their sources
TRIED = 5  # places that are read to find a value whose text has changed
MOST_VERDICTS = 50
PLACE_ORDER = ("id",)


@dataclass(frozen=True, slots=True)
class PlaceOfValue:
    """One finding with its agent, its place, and the text around it.

    The excerpt is None when it was not read, or has changed.
    """

    finding: Finding
    agent_id: str
    place_id: str
    excerpt: places.Excerpt | None

    @property
    def session_query(self) -> str:
        """The end of a session's address that leads to the turn; empty without one."""
        number = self.finding.turn_number
        return "" if number is None else f"?turn={number}#t-{number}"


def find_agents(value: FindingValue) -> list[FindingValueAgent]:
    """The agents in whose texts a value stands, with numbers of places, the most first."""
    return list(FindingValueAgent.objects.filter(value_hash=value.value_hash).order_by("-places", "agent_id"))


def read_places(value_hash: str, agent: Agent, *, with_texts: bool, size: int = PLACES, **place: Any) -> Page:
    """A page of `PlaceOfValue` in one agent's file, in the order in which they were found."""
    rows = Finding.objects.using(agent.db).filter(value_hash=value_hash)
    page = page_of(rows, order=PLACE_ORDER, size=size, **place)
    excerpts = places.read_excerpts(agent.db, page) if with_texts else [None] * len(page)
    page[:] = [
        PlaceOfValue(finding, agent.agent_id, places.find_place_id(finding), excerpt)
        for finding, excerpt in zip(page, excerpts, strict=True)
    ]
    return page


def read_history(value: FindingValue) -> list[tuple[FindingVerdict, bool]]:
    """The newest verdicts on a value, its places and its rule.

    Each is a pair with True while it may be undone.
    """
    about = Q(value_hash=value.value_hash) | Q(value_hash=None, rule=value.rule)
    rows = list(FindingVerdict.objects.filter(about).order_by("-decided_at", "-id")[:MOST_VERDICTS])
    undone = {row.undoes for row in rows if row.undoes}
    return [(row, not row.undoes and row.id not in undone) for row in rows]


def count_of_rule(value: FindingValue) -> RowCount:
    """The number of values that a value's rule found, as far as counted in time."""
    return count_rows(FindingValue.objects.filter(kind=value.kind, rule=value.rule), column="value_hash")


def read_values(value_hashes: Sequence[str]) -> dict[str, str]:
    """Each value as pages show it; a sentence where its texts have changed."""
    values = FindingValue.objects.in_bulk(list(value_hashes))
    rows = FindingValueAgent.objects.filter(value_hash__in=list(values)).order_by("agent_id")
    agents: dict[str, list[str]] = {}
    for value_hash, agent_id in rows.values_list("value_hash", "agent_id"):
        agents.setdefault(value_hash, []).append(agent_id)
    return {name: find_text(name, agents.get(name, ())) or str(words.CHANGED_TEXT) for name in values}


def find_text(value_hash: str, agent_ids: Iterable[str]) -> str | None:
    """A value as pages show it, read from a place in these agents' files.

    None where its texts have changed.
    """
    for agent_id in agent_ids:
        db = databases.find_alias(agent_id)
        if db is None:
            continue
        for finding in Finding.objects.using(db).filter(value_hash=value_hash).order_by("id")[:TRIED]:
            value = places.read_value(db, finding)
            if value is not None:
                return places.mask(finding.kind, value)
    return None


def count_all_unscanned() -> int:
    """Count the texts of all agents that are not scanned yet. Missing files count as none."""
    aliases = (databases.find_alias(name) for name in Agent.objects.values_list("agent_id", flat=True))
    return sum(count_unscanned(db) for db in aliases if db)


def describe_lag() -> tuple[int, str]:
    """The count of texts that are not scanned, and a sentence about it."""
    count = count_all_unscanned()
    return count, str(words.UNSCANNED % {"count": count, "shown": number(count)} if count else words.ALL_SCANNED)
