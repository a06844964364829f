"""Pages of the ledger: scopes, the events of one, one event, replay, statistics, redaction, retention, capture."""

import math

import orjson
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from agents.decorators import agent_view_for
from jobs import services as jobs
from jobs.notices import redirect_after_start
from ledger.lists import facets
from ledger.models import Session
from openclaw_web.errors import Refused
from openclaw_web.lists.declaration import shows
from openclaw_web.lists.list_response import render_list
from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages.html import redirect_after_post, render_page

from . import event_links, queries, redaction, retention
from . import scope_statistics as figures
from .capture import switches
from .chain import heads
from .event_list import EVENTS
from .forms import (
    CaptureForm,
    PolicyForm,
    RedactionForm,
    StatisticsForm,
    WrongAddress,
    build_scope_refusal,
    read_redaction,
    scoped,
)
from .models import RUN_SESSION, EpisodeCapture, EpisodeHead, EpisodicEvent

HEADS = 5  # the newest heads that a page shows
ON_SCREEN = "screen"  # where a head went that a page has shown
PAGE_SIZE = 100  # events of a page of a replay


@require_safe
@agent_view_for("viewer")
def scope_list(request, agent):
    """The scopes of an agent with their counts, the switch of capture, the newest heads."""
    return _render_scopes(request, agent, _build_capture_form(agent))


@require_POST
@agent_view_for("admin")
def capture_set(request, agent):
    """Switch automatic capture on or off."""
    form = _build_capture_form(agent, request.POST)
    if not form.is_valid():
        return _render_scopes(request, agent, form, status=422)
    switches.set_capture(
        agent,
        is_on=form.cleaned_data["is_on"],
        scope=form.cleaned_data["scope"] or None,
        allows_tool_output=form.cleaned_data["allows_tool_output"],
        by=request.user.username,
    )
    sentence = _("Events are captured from now on.") if form.cleaned_data["is_on"] else _("Events are not captured.")
    return redirect_after_post(request, sentence, to=_get_scopes_address(agent))


@require_POST
@agent_view_for("operator")
def head_give_out(request, agent):
    """Give out the head of the ledger, which the page then shows."""
    if not heads.read_head(agent.db).last_id:
        raise Refused(_("This ledger has no events yet: there is nothing to prove."))
    heads.release(agent, ON_SCREEN, by=request.user.username)
    sentence = _("The proof was created. Copy it, and keep it outside of this machine.")
    return redirect_after_post(request, sentence, to=_get_scopes_address(agent))


@require_POST
@agent_view_for("operator")
def verify_start(request, agent):
    """Queue a verification of the whole ledger of an agent."""
    job = jobs.start("episodes_verify", {"agent": agent.agent_id, "heads": []}, by=request.user.username)
    return redirect_after_start(request, job, to=_get_scopes_address(agent))


@require_safe
@agent_view_for("viewer")
@shows(EVENTS)
def event_list(request, agent):
    """The events of a scope that fit, the newest first; as a file with `format`."""
    filters = EVENTS.filters(request.GET).validate()
    if not filters.cleaned_data["scope"]:
        raise build_scope_refusal(agent)
    scope = filters.cleaned_data["scope"]
    return render_list(request, "episodes/event_list.html", EVENTS, agent=agent, filters=filters, scope=scope)


@require_safe
@agent_view_for("viewer")
@scoped
def scope_statistics(request, agent, scope):
    """Events of a scope by type and day, latency of its tools, and drift."""
    form = StatisticsForm(request.GET)
    statistics = figures.read_statistics(agent.db, scope, form.cleaned_data["to"] if form.is_valid() else None)
    address = reverse("episodes:event_list", args=[agent.agent_id])
    chart = figures.build_chart(
        statistics, lambda day: f"{address}?{urlencode({'scope': scope, 'from': day, 'to': day})}"
    )
    context = {"agent": agent, "scope": scope, "form": form, "statistics": statistics, "chart": chart}
    return render_page(request, "episodes/scope_statistics.html", context)


@require_safe
@agent_view_for("viewer")
@scoped
def event_detail(request, agent, scope, event_id):
    """One event of a scope: its texts, its references, its place in the chain."""
    event = EpisodicEvent.objects.using(agent.db).filter(event_id=event_id, scope=scope).first()
    if event is None:
        raise _build_missing_event(agent, scope)
    row = {name: getattr(event, name) for name in (*queries.COLUMNS, "payload_json")}
    item = queries.build_item(row, with_payload=True)
    before, after = event_links.find_neighbours(event)
    context = {
        "agent": agent,
        "scope": scope,
        "event": event,
        "item": item,
        "payload": _format_json(item["payload"]),
        "refs": _format_json(item["refs"]),
        "links": event_links.build_links(agent, event, item["refs"]),
        "before": before,
        "after": after,
        "session": Session.objects.using(agent.db).filter(id=event.session_id).first(),
        "chain_hash": bytes(event.chain_hash).hex(),
        "may_redact": request.user.has_role("operator") and not item["redacted"] and event.session_id != RUN_SESSION,
    }
    return render_page(request, "episodes/event_detail.html", context)


@require_safe
@agent_view_for("viewer")
@scoped
def session_replay(request, agent, scope, session_id):
    """The events of a session within a scope, the oldest first, with gaps."""
    rows = queries.EventQuery(scope, session_id).rows(agent.db).values(*queries.COLUMNS, "payload_json")
    page = page_of(rows, order=queries.ORDER, size=PAGE_SIZE, **read_cursors(request))
    items = [queries.build_item(row, with_payload=True) for row in page]
    for item in items:
        item["text"] = "" if item["redacted"] else _format_json(item["payload"])
    context = {
        "agent": agent,
        "scope": scope,
        "session_id": session_id,
        "session": Session.objects.using(agent.db).filter(id=session_id).first(),
        "page": page,
        "may_redact": request.user.has_role("operator") and bool(page) and session_id != RUN_SESSION,
        "timeline": _build_timeline(agent.db, scope, rows, page, items),
    }
    return render_page(request, "episodes/session_replay.html", context)


@require_safe
@agent_view_for("operator")
@scoped
def redaction_preview(request, agent, scope):
    """How many events a redaction would change, and the form that does it."""
    return _render_redaction(request, agent, read_redaction(request, scope), RedactionForm())


@require_POST
@agent_view_for("operator")
@scoped
def redact_do(request, agent, scope):
    """Redact the event or the session that the address names."""
    form = RedactionForm(request.POST)
    if not form.is_valid():
        return _render_redaction(request, agent, read_redaction(request, scope), form, status=422)
    wish = read_redaction(request, scope, form.cleaned_data["replacement"])
    count = redaction.redact(agent, wish, by=request.user.username)
    sentence = ngettext("%(count)s event was redacted.", "%(count)s events were redacted.", count)
    return redirect_after_post(request, sentence % {"count": f"{count:,}"}, to=_get_subject_address(agent, wish))


@require_safe
@agent_view_for("viewer")
@scoped
def scope_retention(request, agent, scope):
    """How long events of a scope are kept; with `preview`, what a run would remove."""
    return _render_retention(request, agent, scope, PolicyForm(policy=retention.read_policy(agent.db, scope)))


@require_POST
@agent_view_for("admin")
@scoped
def policy_set(request, agent, scope):
    """Set how long the events of a scope are kept."""
    form = PolicyForm(request.POST, policy=retention.read_policy(agent.db, scope))
    if not form.is_valid():
        return _render_retention(request, agent, scope, form, status=422)
    if form.changed:
        retention.set_policy(agent, scope, form.changed, by=request.user.username)
    return redirect_after_post(request, _("Saved."), to=_get_address("episodes:scope_retention", agent, scope))


@require_POST
@agent_view_for("admin")
@scoped
def retention_start(request, agent, scope):
    """Queue a run that removes old events of a scope."""
    job = jobs.start("episodes_retention", {"agent": agent.agent_id, "scope": scope}, by=request.user.username)
    return redirect_after_start(request, job, to=_get_address("episodes:scope_retention", agent, scope))


def _render_scopes(request, agent, form, status=200):
    names = facets.read_values(agent.db, ["scope"], EpisodicEvent._meta.db_table)["scope"]
    capture = switches.read_capture(agent.db)
    context = {
        "agent": agent,
        "form": form,
        "names": names,
        "counted": figures.read_scopes(agent.db, names),
        "most": facets.MOST,
        "capture": capture,
        "capture_scope": switches.build_scope(agent, capture),
        "heads": list(EpisodeHead.objects.using(agent.db).order_by("-last_id")[:HEADS]),
    }
    return render_page(request, "episodes/scope_list.html", context, status=status)


def _build_capture_form(agent, data=None):
    capture = switches.read_capture(agent.db)
    initial = {name: getattr(capture, name) for name in ("is_on", "scope", "allows_tool_output")}
    return CaptureForm(data, initial=initial, default_scope=switches.build_scope(agent, EpisodeCapture()))


def _render_redaction(request, agent, wish, form, status=200):
    context = {
        "agent": agent,
        "scope": wish.scope,
        "wish": wish,
        "form": form,
        "count": redaction.count(agent, wish),
        "back": _get_subject_address(agent, wish),
    }
    return render_page(request, "episodes/redaction_preview.html", context, status=status)


def _render_retention(request, agent, scope, form, status=200):
    context = {
        "agent": agent,
        "scope": scope,
        "form": form,
        "plan": retention.plan(agent, scope) if "preview" in request.GET else None,
        "removals": queries.read_removals(agent.db, scope, 0),
    }
    return render_page(request, "episodes/scope_retention.html", context, status=status)


def _build_timeline(db, scope, rows, page, items):
    """Return (event, None) and (None, removal) in the order of time.

    A removal stands at the time before which events of its type are missing.
    """
    timeline = [(item["ts_ms"], 1, (item, None)) for item in items]
    since_ms = _find_earlier_ms(rows, items[0]) if page.previous else 0
    until_ms = items[-1]["ts_ms"] if page.next else math.inf
    for removal in queries.read_removals(db, scope, 0):
        if since_ms < removal["before_ms"] <= until_ms:
            timeline.append((removal["before_ms"], 0, (None, removal)))
    return [entry for *_place, entry in sorted(timeline, key=lambda entry: entry[:2])]


def _find_earlier_ms(rows, item):
    """Return the time of the last event of the page before."""
    earlier = rows.filter(ts_ms__lte=item["ts_ms"]).exclude(ts_ms=item["ts_ms"], id__gte=item["id"])
    return earlier.order_by("-ts_ms", "-id").values_list("ts_ms", flat=True).first() or 0


def _build_missing_event(agent, scope):
    ways = [(_("All events of this scope"), _get_address("episodes:event_list", agent, scope))]
    refusal = WrongAddress(_("There is no such event in this scope."), ways=ways)
    refusal.status = 404
    return refusal


def _get_subject_address(agent, wish):
    if wish.event_id:
        return event_links.build_event_address(agent, wish.event_id, wish.scope)
    return _get_address("episodes:session_replay", agent, wish.scope, wish.session_id)


def _get_address(route, agent, scope, *names):
    return f"{reverse(route, args=[agent.agent_id, *names])}?{urlencode({'scope': scope})}"


def _get_scopes_address(agent):
    return reverse("episodes:scope_list", args=[agent.agent_id])


def _format_json(value):
    return "" if value is None else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
