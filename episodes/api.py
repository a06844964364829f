"""API of the episodic ledger: append, query, replay, redact, retention and proof.

Every answer with events is of one scope, which the request has to name.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _
from ninja import Query, Status

from agents.decorators import agent_view_for
from jobs import services as jobs
from jobs.schemas import JobOut
from openclaw_web.endpoints.error_responses import build_error
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, PageQuery, page_to_json
from openclaw_web.lists.paging import page_of

from . import queries, redaction, retention
from .append import EventExists, append
from .chain import heads
from .events import Limits, WrongEvent, WrongScope, build_event, check_own_id, normalize_scope
from .models import EpisodicEvent
from .queries import EventQuery
from .redaction import Redaction
from .schemas import (
    AppendedOut,
    BatchOut,
    EpisodePage,
    EpisodeQuery,
    EventIn,
    EventsIn,
    GcIn,
    GcOut,
    HeadOut,
    PolicyIn,
    PolicyOut,
    PolicyQuery,
    RedactedOut,
    RedactIn,
    ScopeOut,
    ScopeQuery,
    TimelinePage,
    VerifyIn,
)
from .scope_statistics import read_scopes

router = Operations("episodes_api", tags=["episodes"])
VERIFY_JOB = "episodes_verify"
OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)|\b(from_ts|to_ts)_ms\b")
ALL_HEADS = VerifyIn()


@router.post("/agents/{agent}/episodes", {201: AppendedOut, 200: AppendedOut}, 400, 404, 409, 503)
@agent_view_for("operator")
def episode_append(request, agent, body: EventIn):
    """Append an event. The same id with other content is refused with 409."""
    with _name_fields():
        event = _build_event(body)
    is_new = bool(append(agent.db, [event]).new)
    return Status(201 if is_new else 200, {"event_id": event.event_id, "is_new": is_new})


@router.post("/agents/{agent}/episodes/batch", {201: BatchOut, 200: BatchOut}, 400, 404, 409, 503)
@agent_view_for("operator")
def episode_append_batch(request, agent, body: EventsIn):
    """Append up to 1,000 events, all or none.

    A refusal names the index of the event in `reasons`.
    """
    try:
        with _name_fields():
            events = [_build_event(event, index) for index, event in enumerate(body.events)]
        appended = append(agent.db, events)
    except (WrongEvent, EventExists) as exc:
        index = exc.index or 0
        sentence = _("Nothing was stored, because of the event with index %(index)s: %(reason)s")
        details = sentence % {"index": index, "reason": exc.sentence}
        return build_error(exc.status, details, reasons=[{"id": index, "reason": exc.sentence}])
    return Status(201 if appended.new else 200, {"new": appended.new, "known": appended.known})


@router.get("/agents/{agent}/episodes", EpisodePage, 400, 404, 409, 503, exclude_unset=True)
@agent_view_for("viewer")
def episode_list(request, agent, filters: Query[EpisodeQuery]):
    """Events of a scope in the order of their time; with `q` a search, newest first.

    A search may return fewer than `limit`, and a `next`.
    """
    with _name_fields():
        query = EventQuery.parse(
            _read_scope(request, filters.scope),
            session_id=filters.session_id,
            from_ts_ms=filters.from_ts,
            to_ts_ms=filters.to_ts,
            types=filters.types,
        )
    words = {"actor": filters.agent_id or "", "words": (filters.q or "").strip()}
    page = queries.read_event_page(agent.db, query, **words, with_payload=filters.include_payload, **filters.place)
    return _page_to_json(page, filters) | {"searched_back_to": page.reached}


@router.get("/agents/{agent}/episodes/replay/{path:session_id}", TimelinePage, 400, 404, 409, 503, exclude_unset=True)
@agent_view_for("viewer")
def episode_replay(request, agent, session_id: str, filters: Query[ScopeQuery]):
    """The events of a session within a scope, in the order of their time.

    `gaps` are what retention removed from the scope: events of the session may have been among them.
    """
    query = EventQuery(_read_scope(request, filters.scope), session_id)
    page = queries.read_event_page(agent.db, query, with_payload=filters.include_payload, **filters.place)
    return _page_to_json(page, filters) | {"gaps": queries.read_removals(agent.db, query.scope, 0)}


@router.get("/agents/{agent}/episodes/scopes", Page[ScopeOut], 404, 409, 503)
@agent_view_for("viewer")
def episode_scopes(request, agent, place: Query[PageQuery]):
    """Scopes by name, with the number of their events of each type."""
    rows = EpisodicEvent.objects.using(agent.db).values("scope").distinct()
    page = page_of(rows, order=("scope",), **place.place)
    names = [row["scope"] for row in page]
    counted = read_scopes(agent.db, names)
    return page_to_json(page, [_scope_to_json(name, counted and counted.get(name, [])) for name in names])


def _scope_to_json(scope, rows):
    """A scope with its counts; None for `rows` when counting took too long."""
    if rows is None:
        return {"scope": scope, "event_count": None, "count_by_type": None}
    by_type = {row["type"]: row["count"] for row in rows}
    return {"scope": scope, "event_count": sum(by_type.values()), "count_by_type": by_type}


@router.post("/agents/{agent}/episodes/redact", RedactedOut, 400, 404, 409, 503)
@agent_view_for("operator")
def episode_redact(request, agent, body: RedactIn):
    """Redact an event, or a session, within a scope; with `dry_run`, the default, only count.

    The rows stay without their texts, which nothing brings back.
    """
    with _name_fields():
        request_values = {"event_id": body.event_id, "session_id": body.session_id, "replacement": body.replacement}
        target = Redaction.parse(normalize_scope(body.scope), **request_values)
    if body.dry_run:
        count = redaction.count(agent, target)
    else:
        count = redaction.redact(agent, target, by=request.user.username)
    names = ("scope", "event_id", "session_id", "replacement")
    return {**{name: getattr(target, name) for name in names}, "dry_run": body.dry_run, "redacted_count": count}


@router.post("/agents/{agent}/episodes/gc", GcOut, 400, 404, 409, 503)
@agent_view_for("admin")
def episode_gc(request, agent, body: GcIn):
    """Remove events of a scope that are older than their type is kept.

    With `dry_run`, the default, they are only counted. `policy` stands before the policy of the scope.
    """
    scope = normalize_scope(body.scope)
    if body.dry_run:
        result = retention.plan(agent, scope, body.policy)
    else:
        result = retention.run(agent, scope, body.policy, by=request.user.username)
    return result.as_json() | {"dry_run": body.dry_run}


@router.get("/agents/{agent}/episodes/policy", PolicyOut, 400, 404, 503)
@agent_view_for("viewer")
def episode_policy(request, agent, filters: Query[PolicyQuery]):
    """How long each type of event is kept in a scope."""
    return _policy_to_json(agent, normalize_scope(filters.scope))


@router.post("/agents/{agent}/episodes/policy", PolicyOut, 400, 404, 409, 503)
@agent_view_for("admin")
def episode_policy_save(request, agent, body: PolicyIn):
    """Change how long some types of events are kept in a scope."""
    scope = normalize_scope(body.scope)
    if body.policy:
        retention.set_policy(agent, scope, body.policy, by=request.user.username)
    return _policy_to_json(agent, scope)


@router.get("/agents/{agent}/episodes/head", HeadOut, 404, 503)
@agent_view_for("operator")
def episode_head(request, agent):
    """The value of the chain after the last event.

    Keep a head only from a POST to this address, which notes it: retention then keeps it comparable.
    """
    return _head_to_json(heads.read_head(agent.db))


@router.post("/agents/{agent}/episodes/head", HeadOut, 404, 409, 503)
@agent_view_for("operator")
def episode_head_give(request, agent):
    """Give out the head, to be kept elsewhere; it can be compared with the ledger forever."""
    return _head_to_json(heads.release(agent, "API", by=request.user.username))


@router.post("/agents/{agent}/episodes/verify", {202: JobOut}, 400, 404, 409, 503)
@agent_view_for("operator")
def episode_verify(request, agent, body: VerifyIn = ALL_HEADS):
    """Compare the ledger with its chain, and with heads that you kept; returns the job."""
    kept_heads = [[kept_head.name, str(heads.parse_head(kept_head.head))] for kept_head in body.heads]
    params = {"agent": agent.agent_id, "heads": kept_heads}
    return Status(202, jobs.start(VERIFY_JOB, params, by=request.user.username))


@contextmanager
def _name_fields() -> Iterator[None]:
    """Let refusals of the block name fields of the API instead of options."""
    try:
        yield
    except WrongEvent as exc:
        exc.sentence = OPTION.sub(lambda match: (match[1] or match[2]).replace("-", "_"), exc.sentence)
        raise


def _build_event(body, index=None):
    limits = Limits(allows_tool_output=body.allow_tool_output)
    try:
        check_own_id(body.event_id)
        return build_event(**body.dict(exclude={"allow_tool_output"}), limits=limits)
    except WrongEvent as exc:
        exc.index = index
        raise


def _read_scope(request, scope):
    """The scope of a request that shows events, which the audit log names."""
    if not scope.strip():
        raise WrongScope(_("Name a scope. Every answer is of one scope; global is a scope, too."))
    name = normalize_scope(scope)
    request.opened = ("episode", name)
    return name


def _page_to_json(page, filters):
    items = [queries.build_item(row, with_payload=filters.include_payload) for row in page]
    return page_to_json(page, items) | {"limit": filters.limit, "is_cut": page.next is not None}


def _policy_to_json(agent, scope):
    return {"scope": scope, "policy": retention.read_policy(agent.db, scope)}


def _head_to_json(head):
    return {"head": str(head), "last_id": head.last_id}
