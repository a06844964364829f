"""Problems in words: the sentence of a row, its link, and its state."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from openclaw_web import sentences
from openclaw_web.pages import states
from openclaw_web.pages.formatting import number
from openclaw_web.pages.templates import url_or_none
from openclaw_web.sqlite import failures

from .kinds import BY_COUNT, ERROR, WARNING, Facts, Kind, Link, find
from .models import Problem

MORE = "more"  # the subject of a row that counts what is not named
UNUSABLE = (KeyError, TypeError, ValueError)  # facts that a sentence does not know


@dataclass(frozen=True, slots=True)
class ProblemDisplay:
    """A problem as pages show it.

    It has its sentence, the tone of its badge, and its button (empty without one).
    """

    row: Problem
    label: str
    sentence: str
    tone: str
    state: states.State
    button: str
    href: str
    may_act: bool
    followers: Sequence["ProblemDisplay"] = ()  # what follows from it


def build_display(row: Problem, user: Any, followers: Sequence[ProblemDisplay] = ()) -> ProblemDisplay:
    """Return a problem as a person sees it."""
    kind, facts = find(row.kind), build_facts(row.agent_id, row.detail)
    link = _build_link(kind, facts) if kind and user.has_role(kind.role) else None
    href = (url_or_none(link.route, *link.args) if link else None) or ""
    return ProblemDisplay(
        row=row,
        label=str(kind.label if kind else row.kind),
        sentence=describe_problem(kind, facts, row.kind),
        tone=tone(row.severity),
        state=state_of(row),
        button=str(link.label) if link and href else "",
        href=f"{href}?{urlencode(link.query)}" if link and href and link.query else href,
        may_act=user.has_role("operator"),
        followers=followers,
    )


def build_facts(agent_id: str, detail: Facts) -> dict[str, Any]:
    """Return the facts of a row, with its agent."""
    facts = {name: sentences.decode(value) if isinstance(value, str) else value for name, value in detail.items()}
    return {"agent": agent_id} | facts


def describe_problem(kind: Kind | None, facts: Facts, name: str = "") -> str:
    """Return the sentence of a problem, or its label where facts are missing."""
    if kind is None:
        return name
    if MORE in facts:
        words = ngettext("%(count)s more: %(label)s.", "%(count)s more: %(label)s.", facts["more"])
        return words % {"count": f"{facts['more']:,}", "label": kind.label}
    try:
        words = kind.describe(facts) if callable(kind.describe) else kind.describe
        return _fill(words, facts) if isinstance(words, Promise) else words
    except UNUSABLE:
        return str(kind.label)


def _fill(words, facts):
    """Return the sentence with the facts.

    Whole numbers are as pages write them, and 100+ where counting ended.
    """
    values = {name: number(value) if type(value) is int else value for name, value in facts.items()}
    if "count" in facts:
        values |= {BY_COUNT: facts["count"], "count": f"{values['count']}{'+' if facts.get('is_more') else ''}"}
    return words % values


def _build_link(kind, facts):
    """Return where something is done about a problem, else None.

    There is none where facts are missing, or do not name one problem.
    """
    try:
        return None if MORE in facts else kind.link(facts)
    except UNUSABLE:
        return None


def tone(severity: int) -> str:
    """Return the tone of a problem: bad, warn or info."""
    return "bad" if severity >= ERROR else "warn" if severity >= WARNING else "info"


def state_of(row: Problem) -> states.State:
    """Return the state of a row in one word.

    It says what people did about the problem, and that it came back.
    """
    if row.state == Problem.State.OPEN:
        return states.get_state("seen" if row.seen_at else "opened_again" if row.reopened_count else "open")
    return states.get_state(row.state)


def open_rows() -> QuerySet[Problem]:
    """Return the open problems, the worst first."""
    return Problem.objects.filter(state=Problem.State.OPEN).order_by("-severity", "-since_at", "-id")


def describe_unchecked(facts: Facts) -> str:
    """Describe that an agent, or a kind of problem, could not be checked, and why."""
    why = {
        "database": lambda: failures.translate_message(facts["text"]),
        "system": lambda: _("a file could not be read"),
        "other": lambda: _("its database cannot be used") if facts["is_file"] else _("unexpected error (see the log)"),
    }[facts["why"]]()
    if facts["agent"]:
        return _("Agent %(agent)s could not be checked for problems: %(why)s.") % {"agent": facts["agent"], "why": why}
    kind = find(facts["kind"])
    words = {"label": kind.label if kind else facts["kind"], "why": why}
    return _("“%(label)s” could not be checked: %(why)s.") % words


UNCHECKED = Kind(
    label=gettext_lazy("Check failed"),
    severity=66,
    describe=describe_unchecked,
    link=lambda _facts: Link(gettext_lazy("Check"), "operations:doctor"),
)
