"""Declares the list of problems: its filters, its columns and its words."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.lists.declaration import PLAIN, TITLE, List, Words, file_columns
from openclaw_web.lists.filters import ListFilters
from openclaw_web.lists.paging import Listing, build_listing, build_terms, get_order_columns
from openclaw_web.lists.segments import EVERYTHING, Segment, Segments
from openclaw_web.pages import states

from . import kinds as problem_kinds
from .causes import build_followers, find_causes
from .models import Problem
from .words import build_display, build_facts, describe_problem

State = Problem.State
SEGMENTS = Segments(
    label=_("Problems"),
    column="state",
    first="open",
    parts={
        "open": Segment(states.word(State.OPEN), among=(State.OPEN,)),
        "muted": Segment(states.word(State.MUTED), among=(State.MUTED,)),
        "closed": Segment(states.word(State.CLOSED), among=(State.CLOSED,)),
        "all": EVERYTHING,
    },
)
SEEKS = ("state", "kind", "agent_id")  # columns whose index goes on with the order
COLUMNS = {"kind": "kind", "agent": "agent_id"}
FIELDS = file_columns(Problem, "id", "kind", "agent_id", "subject", "problem")
READ = (*(name for name in FIELDS if name != "problem"), "detail_json")


class ProblemFilters(ListFilters):
    """The filters of the list of problems."""

    SEGMENTS = SEGMENTS
    ORDERS, DEFAULT = {"severity": ("severity", "since_at", "id"), "since": ("since_at", "id")}, "-severity"
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=problem_kinds.labels)
    agent = forms.CharField(label=_("Agent"), required=False, max_length=56)


def fits(user, *, sort=ProblemFilters.DEFAULT, segment="", **values) -> Listing:
    """Return the problems that match the filters, of the kinds that a person may see."""
    rows = Problem.objects.all()
    hidden = set(problem_kinds.names()) - set(problem_kinds.visible_to(user))
    rows = rows.exclude(kind__in=hidden) if hidden else rows
    if segment == SEGMENTS.first and not any(values.values()):
        rows = rows.exclude(id__in=find_causes(user))  # they are under their causes
    conditions = [*SEGMENTS.term(segment), *build_terms(values, COLUMNS)]
    order = get_order_columns(ProblemFilters.ORDERS, sort)
    return build_listing(rows, conditions, order=order, seeks=SEEKS if len(order) == 3 else ())


def shape(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the file and of the API.

    It has the columns, and the problem's sentence as `problem`.
    """
    facts = build_facts(row["agent_id"], Problem.detail.decode(row["detail_json"]))
    words = describe_problem(problem_kinds.find(row["kind"]), facts, row["kind"])
    return {name: words if name == "problem" else row[name] for name in FIELDS}


def _prepare(page, _filters, user):
    rows = list(page)
    may_cause = any((kind := problem_kinds.find(row.kind)) and kind.causes for row in rows)
    followers = build_followers(rows, find_causes(user) if may_cause else {}, user)
    return {"rows": [build_display(row, user, followers.get(row.id, ())) for row in rows]}


PROBLEMS = List(
    on="problems",
    words=Words(
        counted=ngettext_lazy("%(shown)s entry", "%(shown)s entries", "count"),
        uncounted=_("Problems"),
        none=_("No problems"),
        how=_("What needs you is listed here: checked every minute, and after each job and import."),
        icon="check-circle",
    ),
    filters=ProblemFilters,
    fits=fits,
    columns=(
        ("severity", _("Problem"), False, TITLE),
        ("", _("Status"), False, PLAIN),
        ("", _("Agent"), False, PLAIN),
        ("since", _("Began"), False, PLAIN),
        ("", _("Actions"), False, PLAIN),
    ),
    table=Problem,
    fields=FIELDS,
    prepare=_prepare,
    file=lambda rows: rows.values(*READ),
    shape=shape,
)
