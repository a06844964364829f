"""Runs of sub-agents with the sessions on both sides, as pages and the API read them."""

from dataclasses import dataclass
from typing import Any

from django.db.models import TextField, Value
from django.db.models.functions import Coalesce

from agents.models import Agent
from ledger.injected_prompts import split_injected
from ledger.models import Session
from openclaw_web.lists.paging import Page, page_of

from .models import SubagentRun
from .schedules import LONGEST_NAME, build_session_address

ORDER = ("-created_at", "-run_id")
BUDGET_CHARACTERS = 1_000_000  # of payloads read for one page
SESSIONS_ASKED = 2_000  # a key that is reset every day has many sessions


@dataclass(frozen=True, slots=True)
class Side:
    """A session by its key.

    It has an address and a title when it is in this agent's store.
    """

    key: str
    session_id: str | None = None
    address: str | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a sub-agent: who asked whom for what, and its outcome.

    `outcome` is empty while the run goes on.
    """

    run_id: str
    label: str
    task: str
    model: str
    outcome: str
    error: str
    created_at: int | None
    ended_at: int | None
    requester: Side
    child: Side

    @property
    def duration_ms(self):
        """The duration (ms); None while the run goes on or when a time is missing."""
        if not self.created_at or self.ended_at is None:
            return None
        return max(0, self.ended_at - self.created_at)


def read_page(agent: Agent, *, session: str = "", **place: Any) -> Page:
    """Return the runs that sessions of an agent asked for, the newest first.

    With `session`, those on either side of this session. `place`: see page_of.
    """
    if session:
        key = key_of(agent, session)
        # A child may be another agent's; keys of children are unique, those of requesters are not.
        # As an expression, so that the index of the column is not used.
        requested = SubagentRun.objects.alias(by=Coalesce("agent_id", Value(""), output_field=TextField())).filter(
            requester_session_key=key, by=agent.agent_id
        )
        own_runs = SubagentRun.objects.filter(child_session_key=key)
        runs = (requested, own_runs.exclude(agent_id=agent.agent_id, requester_session_key=key))
    else:
        runs = SubagentRun.objects.filter(agent_id=agent.agent_id)
    rows = page_of(runs, order=ORDER, **place, budget=BUDGET_CHARACTERS, weigh=lambda run: len(run.payload_json))
    sessions = _read_sessions(agent, rows)
    page = Page(build_run(agent, run, sessions) for run in rows)
    page.next, page.previous = rows.next, rows.previous
    return page


def key_of(agent: Agent, session: str) -> str:
    """Return the key of a session that is named by its id or its key."""
    if len(session) > LONGEST_NAME:
        return session[:LONGEST_NAME]
    known = Session.objects.using(agent.db).filter(id=session).values_list("session_key", flat=True).first()
    return known or session


def _read_sessions(agent, runs):
    """Read the sessions of every key of a page, the newest first.

    Each is (created at, id, title).
    """
    keys = {key for run in runs for key in (run.requester_session_key, run.child_session_key) if key}
    rows = Session.objects.using(agent.db).filter(session_key__in=keys).order_by("-created_at", "-id")
    by_key: dict[str, list[tuple[int, str, str]]] = {}
    for key, *known in rows.values_list("session_key", "created_at", "id", "title")[:SESSIONS_ASKED]:
        by_key.setdefault(key, []).append(tuple(known))
    return by_key


def build_run(agent, run, sessions):
    payload = run.payload
    outcome = payload.get("outcome") if isinstance(payload.get("outcome"), dict) else {}
    ended = _text(outcome, "status") or _text(payload, "endedReason") or "ended"
    return Run(
        run_id=run.run_id,
        label=_text(payload, "label"),
        task=_text(payload, "task"),
        model=_text(payload, "model"),
        outcome="" if run.ended_at is None else ended,
        error=_text(outcome, "error"),
        created_at=run.created_at or None,
        ended_at=run.ended_at,
        requester=_build_side(agent, run.requester_session_key, sessions, run.created_at),
        child=_build_side(agent, run.child_session_key, sessions, None),
    )


def _build_side(agent, key, sessions, moment):
    """Return the session that had a key at a moment: the last one begun by then."""
    known = sessions.get(key, [])
    begun = [session for session in known if moment is None or session[0] <= moment]
    for _, session_id, title in begun[:1] or known[-1:]:
        return Side(key, session_id, build_session_address(agent, session_id), split_injected(title)[1])
    return Side(key)


def _text(entry, name):
    value = entry.get(name)
    return value if isinstance(value, str) else ""
