"""The list of found values: its filters, its query, its columns and rows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django import forms
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from agents import databases
from agents.models import Agent
from findings import places
from findings.finding_store import PERSON_RULE
from findings.models import Finding
from findings.scan import count_unscanned
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.detectors.spans import NOT_FULLY_SCANNED
from openclaw_web.lists.declaration import NAMED, PLAIN, List, Words, file_columns
from openclaw_web.lists.filters import DayFilters
from openclaw_web.lists.list_counts import RowCount, count_rows
from openclaw_web.lists.paging import Listing, Page, build_listing, build_terms, get_order_columns, page_of
from openclaw_web.pages import states
from openclaw_web.pages.formatting import number

from ..models import FindingValue, FindingValueAgent, FindingVerdict
from ..review import claims
from . import sample_privacy, words
from .decisions import CONFIRMED, DISMISSED, find_states

SEEKS = ("state", "kind")  # columns whose index continues with the time of the first finding
MOST_RATED = 10_000
SEARCH_MS = 200  # for the values of one agent among all others


class ValueFilters(DayFilters):
    """The filters of the list of values."""

    ORDERS, DEFAULT = {"appeared": ("first_found_at", "value_hash"), "places": ("places", "value_hash")}, "-appeared"
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=[("", _("All kinds")), *words.KIND_WORDS.items()])
    state = forms.ChoiceField(label=_("Status"), required=False, choices=states.choices(FindingValue.State))
    agent = forms.ChoiceField(label=_("Agent"), required=False)
    rule = forms.CharField(label=_("Rule"), required=False, max_length=100)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        ids = Agent.objects.order_by("agent_id").values_list("agent_id", flat=True)
        self.fields["agent"].choices = [("", _("All agents")), *((agent_id, agent_id) for agent_id in ids)]


def fits(_user, *, sort=ValueFilters.DEFAULT, agent="", **criteria) -> Listing:
    """The values that fit these criteria; with `agent`, those that stand in its texts."""
    order = get_order_columns(ValueFilters.ORDERS, sort)
    is_by_time = order[0].endswith("first_found_at")
    terms = build_terms(criteria, {"state": "state", "kind": "kind", "rule": "rule"}, moment="first_found_at")
    rows = FindingValue.objects.all()
    if is_by_time and criteria.get("state") and criteria.get("kind"):  # an index of both
        rows = rows.filter(state=criteria["state"], kind=criteria["kind"])
        terms = [term for term in terms if term.column not in SEEKS]
    listing = build_listing(rows, terms, order=order, seeks=SEEKS if is_by_time else ())
    if not agent:
        return listing
    places = FindingValueAgent.objects.filter(value_hash=OuterRef("value_hash"), agent_id=agent)
    return replace(listing.narrow(Q(Exists(places))), time_ms=SEARCH_MS if is_by_time else 0)


class RulePrecision(NamedTuple):
    """How many values of a kind that a rule found people confirmed, and how many they dismissed."""

    rule: str
    kind: str
    confirmed: int
    dismissed: int

    @property
    def share(self) -> float:
        return self.confirmed / (self.confirmed + self.dismissed)


def measure_rules() -> dict[tuple[str, str], RulePrecision]:
    """The precision of each rule with a kind of whose values people judged some, by both; the most judged first.

    The newest MOST_RATED values of each verdict count.
    """
    # The verdict in force has the time of the state: what a verdict on the rule decided is no judgment of a value.
    own = FindingVerdict.objects.filter(
        scope=FindingVerdict.Scope.VALUE, undoes=None, decided_at=OuterRef("decided_at")
    )
    rows = FindingValue.objects.filter(Exists(own.filter(value_hash=OuterRef("value_hash")))).exclude(rule=PERSON_RULE)
    rows = rows.order_by("-first_found_at", "-value_hash").values_list("rule", "kind")
    confirmed, dismissed = (Counter(rows.filter(state=state)[:MOST_RATED]) for state in (CONFIRMED, DISMISSED))
    judged = [RulePrecision(*place, confirmed[place], dismissed[place]) for place in {**confirmed, **dismissed}]
    judged.sort(key=lambda row: (-row.confirmed - row.dismissed, row.rule, row.kind))
    return {(row.rule, row.kind): row for row in judged}


VALUES = List(
    on="findings",
    words=Words(
        counted=ngettext_lazy("%(shown)s value", "%(shown)s values", "count"),
        uncounted=_("Findings"),
        none=_("No findings yet"),
        how=_(
            "Personal data and secrets in the texts of agents are listed here, one row for each value. Texts are "
            "scanned after each import."
        ),
        icon="shield-exclamation",
    ),
    filters=ValueFilters,
    fits=fits,
    columns=(
        ("", _("Value"), False),
        ("", _("Kind"), False, PLAIN),
        ("", _("Status"), False, PLAIN),
        ("places", _("Places"), True, NAMED),
        ("", _("Agents"), True),
        ("", _("Rule"), False),
        ("appeared", _("First found"), True, PLAIN),
        ("", _("Verdict"), False),
    ),
    table=FindingValue,
    fields=file_columns(FindingValue),
    prepare=lambda page, _filters, user: {
        "rows": page,
        "kind_word": words.get_kind_word,
        "precision": measure_rules(),
        "may_judge": user.has_role("labeller"),
        "holders": claims.find_holders_of([value.value_hash for value in page], besides=user.username),
    },
)


PLACES = 10  # on a page: all are read from their sources
TRIED = 5  # places that are read to find a value whose text has changed
PLACE_ORDER = ("id",)


@dataclass(frozen=True, slots=True)
class PlaceOfValue:
    """One finding with its agent, its place, and the text around it.

    The excerpt is None when it was not read, or has changed.
    """

    finding: Finding
    agent_id: str
    place_id: str
    state: str
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
        PlaceOfValue(finding, agent.agent_id, places.find_place_id(finding), state, excerpt)
        for finding, state, excerpt in zip(page, find_states(agent.agent_id, page), excerpts, strict=True)
    ]
    return page


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
    count, waiting = count_all_unscanned(), sample_privacy.count_waiting()
    partly = FindingValue.objects.filter(kind=NOT_FULLY_SCANNED)[: sample_privacy.MOST_VALUES].count()
    sentences = [
        count and words.UNSCANNED % {"count": count, "shown": number(count)},
        waiting and words.NOT_CHECKED % {"count": waiting},
        partly and words.NOT_FULLY_SCANNED % {"count": partly},
    ]
    none = words.ALL_SCANNED if Agent.objects.exists() else words.NO_TEXTS
    return count, " ".join(str(sentence) for sentence in sentences if sentence) or str(none)
