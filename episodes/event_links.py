"""Links from an event: tool calls, artifacts, writes to memory, and its neighbours."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from agents.models import Agent
from artifacts import handles
from artifacts.models import Artifact
from guardian.models import WriteGuardianAudit
from openclaw_web.clock import DAY_MS

from .models import EpisodicEvent
from .scope_statistics import CALL, RESULT, find_call_id

MOST_LINKS = 50  # of each kind
MOST_EVENTS = 1_000  # events of the session, within a day, in which the pair of a tool call is looked for


@dataclass(frozen=True, slots=True)
class Link:
    """Something that references name; `address` is empty when it is not stored here."""

    label: str
    name: str
    address: str


def build_links(agent: Agent, event: EpisodicEvent, refs: Any) -> list[Link]:
    """Return what the references of an event name."""
    return [
        *_link_call(agent, event, refs),
        *_link_artifacts(agent, event.refs_json or ""),
        *_link_writes(agent, refs),
    ]


def find_neighbours(event: EpisodicEvent) -> tuple[EpisodicEvent | None, EpisodicEvent | None]:
    """Return the events before and after one in its session, within the scope."""
    rows = _list_session(event).only("id", "event_id", "scope", "ts_ms")
    before = rows.filter(ts_ms__lte=event.ts_ms).filter(Q(ts_ms__lt=event.ts_ms) | Q(id__lt=event.id))
    after = rows.filter(ts_ms__gte=event.ts_ms).filter(Q(ts_ms__gt=event.ts_ms) | Q(id__gt=event.id))
    return before.order_by("-ts_ms", "-id").first(), after.order_by("ts_ms", "id").first()


def build_event_address(agent: Agent, event_id: str, scope: str) -> str:
    """Return the address of the page of an event."""
    address = reverse("episodes:event_detail", args=[agent.agent_id, event_id])
    return f"{address}?{urlencode({'scope': scope})}"


def _list_session(event):
    return EpisodicEvent.objects.using(event._state.db).filter(scope=event.scope, session_id=event.session_id)


def _link_call(agent, event, refs):
    call_id = find_call_id(refs)
    if not call_id:
        return
    pair_type = {CALL: RESULT, RESULT: CALL}.get(event.type, CALL)
    pairs = _list_session(event).filter(type=pair_type)
    if pair_type == RESULT:
        pairs = pairs.filter(ts_ms__range=(event.ts_ms, event.ts_ms + DAY_MS)).order_by("ts_ms", "id")
    else:
        pairs = pairs.filter(ts_ms__range=(event.ts_ms - DAY_MS, event.ts_ms)).order_by("-ts_ms", "-id")
    pair = next((row for row in pairs[:MOST_EVENTS] if find_call_id(row.refs) == call_id), None)
    label = _("Result of the tool call") if pair_type == RESULT else _("Tool call")
    yield Link(label, call_id, build_event_address(agent, pair.event_id, event.scope) if pair else "")


def _link_artifacts(agent, text):
    mentioned = list(dict.fromkeys(handles.find_handles(text)))[:MOST_LINKS]
    if not mentioned:
        return
    rows = Artifact.objects.using(agent.db).filter(handle__in=mentioned)
    stored = set() if "artifacts" in settings.DISABLED else set(rows.values_list("handle", flat=True).distinct())
    for handle in mentioned:
        address = reverse("artifacts:artifact_detail", args=[agent.agent_id, handle[-64:]]) if handle in stored else ""
        yield Link(_("Artifact"), handle, address)


def _link_writes(agent, refs):
    names = refs.get("memory_ids") if isinstance(refs, dict) else None
    names = [name for name in names if name and isinstance(name, str)][:MOST_LINKS] if isinstance(names, list) else []
    if not names:
        return
    rows = WriteGuardianAudit.objects.using(agent.db).filter(id__in=names)
    stored = set() if "guardian" in settings.DISABLED else set(rows.values_list("id", flat=True))
    for name in names:
        address = reverse("guardian:audit_detail", args=[agent.agent_id, name]) if name in stored else ""
        yield Link(_("Write to memory"), name, address)
