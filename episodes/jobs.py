"""Jobs of the ledger: verify one against its chain and kept heads, and remove old events."""

from collections import Counter
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import databases
from agents import services as agents
from agents.models import Agent
from jobs.kinds import BY_SCHEDULE, DAY_MS, Kind, Schedule
from openclaw_web.sqlite import inspection

from . import retention
from .chain import heads, verification
from .models import EpisodicEvent


def verify(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Compare the ledger of `params["agent"]` with its chain, with all known heads, and with those given.

    `heads` are (name, text) of heads that somebody kept. Raises Refused for an unknown agent or a text that is no head.
    """
    db = agents.get_alias(params["agent"])
    expected = heads.parse_heads(params.get("heads") or [])
    given = {head for _name, head in expected}
    expected += [known for known in heads.list_known_heads(db, params["agent"]) if known[1] not in given]
    total = EpisodicEvent.objects.using(db).count() if inspection.read_kind(db, EpisodicEvent._meta.db_table) else 0
    message = _("Verifying the ledger of %(agent)s") % {"agent": params["agent"]}
    progress.update(0, total, message)
    result = verification.verify(db, expected, lambda count: progress.update(count, max(count, total)))
    progress.update(result.events, result.events)
    return {
        "message": _describe(result),
        "unchanged": result.is_unchanged,
        "events": result.events,
        "removed": result.removed,
        "fault_count": result.fault_count,
        "faults": [{"name": name, "sentence": sentence} for name, sentence in result.faults],
        "heads": result.heads,
        "head": str(result.head),
    }


def _describe(result):
    counts = {"events": f"{result.events:,}", "removed": f"{result.removed:,}", "heads": f"{len(result.heads):,}"}
    if result.is_removed:
        return _("The ledger was removed; only a backup brings it back. Heads that were given out: %(heads)s.") % counts
    if not result.is_unchanged:
        changed = sum(not entry["unchanged"] for entry in result.heads)
        words = {"faults": f"{result.fault_count:,}", "heads": f"{changed:,}"}
        return _("The ledger was changed. Faults: %(faults)s. Heads that differ: %(heads)s.") % words
    if result.heads:
        sentence = ngettext(
            "Unchanged since %(heads)s kept head. Events: %(events)s, removed by retention: %(removed)s.",
            "Unchanged since each of %(heads)s kept heads. Events: %(events)s, removed by retention: %(removed)s.",
            len(result.heads),
        )
    else:
        sentence = _(
            "The chain is consistent, but no kept head was compared with it. Events: %(events)s, removed by retention: "
            "%(removed)s."
        )
    return sentence % counts


def in_words(result: dict[str, Any]) -> str:
    """Return the result of a verification as text: its sentence, the faults, and each head."""
    lines = [result["message"]]
    lines += [f"  {fault['name']}: {fault['sentence']}" for fault in result["faults"]]
    lines += [f"  {entry['name']}: {entry['sentence']}" for entry in result["heads"]]
    return "\n".join(lines)


def remove_expired(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Remove events that are older than their type is kept; returns counts.

    `agent` and `scope` choose one of each (default: all), `by` is the user. Raises Refused for an unknown agent.
    """
    scopes = list(_list_scopes(params))
    counts, parts = Counter[str](), []
    for number, (agent, scope) in enumerate(scopes):
        progress.update(number, len(scopes), _("Removing old events of %(agent)s") % {"agent": agent.agent_id})
        result = retention.run(agent, scope, by=params.get("by", ""))
        counts.update(result.deleted_by_type)
        if result.deleted_total:
            by_type = {name: count for name, count in result.deleted_by_type.items() if count}
            parts.append({"agent": agent.agent_id, "scope": scope, "deleted_by_type": by_type})
    progress.update(len(scopes), len(scopes))
    words = {"events": f"{counts.total():,}", "scopes": f"{len(scopes):,}"}
    return {
        "message": _("Removed events: %(events)s. Scopes checked: %(scopes)s.") % words,
        "deleted_total": counts.total(),
        "deleted_by_type": {name: count for name, count in sorted(counts.items()) if count},
        "scopes": parts,
    }


def _list_scopes(params):
    """Yield the agents and scopes of a run.

    Agents whose files cannot be used are left out of a run of all.
    """
    if chosen := params.get("agent"):
        chosen_agents = [agents.get(chosen)]
    else:
        rows = Agent.objects.order_by("agent_id")
        chosen_agents = [agent for agent in rows if databases.find_alias(agent.agent_id)]
    for agent in chosen_agents:
        scope = params.get("scope")
        scopes = EpisodicEvent.objects.using(agent.db).order_by("scope").values_list("scope", flat=True).distinct()
        yield from ((agent, name) for name in ([scope] if scope else list(scopes)))


VERIFY_JOB = Kind(
    run=verify,
    label=gettext_lazy("Ledger verification"),
    audit_text=gettext_lazy("started to verify a ledger of events"),
    cancel_text=gettext_lazy("No result is recorded."),
    describe_result=in_words,
)
RETENTION_JOB = Kind(
    run=remove_expired,
    label=gettext_lazy("Retention of events"),
    audit_text=gettext_lazy("started the removal of old events"),
    cancel_text=gettext_lazy("Events already removed are not restored; the others are kept."),
    page="episodes:scope_list",
    page_params=("agent",),
    schedule=Schedule("episodes.dailyRetention", DAY_MS, lambda: {"by": BY_SCHEDULE}, is_switch=True),
)
