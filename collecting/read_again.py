"""The job that reads sessions again whose turns were made by other rules (ledger.rules); their samples follow."""

import os
from collections import Counter, defaultdict
from typing import Any

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import databases
from agents.claims import find_root, resolve_names
from agents.layout.home_agents import read_home
from agents.models import Agent, CollectorSource
from artifacts.models import Artifact
from datasets.kinds.changed_turns import follow_turns
from datasets.releases import taints
from gate.models import GateCall, MemoryGateDecision
from guardian.models import GuardianRun, WriteGuardianAudit
from jobs import services as jobs
from jobs.kinds import BY_SCHEDULE, Kind
from ledger.models import ConversationTurn, Session
from ledger.rebuild import sums
from openclaw_web.amounts import format_amount
from openclaw_web.pages.formatting import listed
from overview import summaries

from . import collect

# Rows that name a turn, with the noun of those that a result names.
NAMING: dict[Any, str] = {MemoryGateDecision: "decisions", WriteGuardianAudit: "writes"}
NAMING |= {GateCall: "", GuardianRun: "", Artifact: ""}
NAMED = 20  # rows of each sort that a result names


def run(_params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Read sessions of other rules again: from their sources, else from their stored records.

    Running it again goes on with what is left.
    """
    agents = list(Agent.objects.order_by("agent_id"))
    older = {agent.agent_id: _list_older(databases.find_alias(agent.agent_id)) for agent in agents}
    claims = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT).order_by("root")
    for root in filter(os.path.isdir, claims.values_list("root", flat=True).distinct()):
        present = resolve_names(read_home(find_root(root))).values()  # an agent may be gone from its folder
        if ids := [session_id for agent_id in present for session_id in older.get(agent_id, ())]:
            collect.run({"source": root, "again": True, "session": ids}, progress)
    counts: Counter[str] = Counter()
    lost: defaultdict[str, list[str]] = defaultdict(list)  # rows whose turn is none any more, by noun
    for agent in agents:
        if (db := databases.find_alias(agent.agent_id)) is None:
            continue
        remaining = _list_older(db)
        words = _("Reading sessions of %(agent)s again") % {"agent": agent.agent_id}
        for number, session_id in enumerate(remaining):
            progress.update(number, len(remaining), words)
            sums.rebuild_session(db, session_id)
        if remaining:
            summaries.refresh(agent, is_whole=True)
        for model, noun in NAMING.items():
            lost[noun] += _follow_messages(db, model)
        followed, lost_samples = follow_turns(agent, progress)
        counts += followed
        lost["samples"] += lost_samples
    if counts["changed"] and taints.has_releases():
        jobs.start(taints.JOB_KIND, {}, by=BY_SCHEDULE)
    result = {"sessions": sum(map(len, older.values())), "changed": counts["changed"], "sent": counts["sent"]}
    named = {noun: {"count": len(names), "names": names[:NAMED]} for noun, names in lost.items() if names and noun}
    return {"message": _describe(result, named), **result, "lost": named}


def _follow_messages(db, model):
    """Name the turn that has the message now, in rows whose turn is none any more; return the others' ids."""
    turns = ConversationTurn.objects.using(db).filter(id=OuterRef("turn_id"), turn_number__gt=0)
    sessions = Session.objects.using(db).filter(id=OuterRef("session_id"))
    rows = model.objects.using(db).filter(~Exists(turns), Exists(sessions), turn_id__isnull=False)
    for pk, session_id, turn_id in list(rows.values_list("pk", "session_id", "turn_id")):
        if place := sums.find_turn(db, session_id, turn_id):
            model.objects.using(db).filter(pk=pk).update(turn_id=place[0])
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _list_older(db):
    return list(Session.objects.using(db).list_ids_to_read_again()) if db else []


def _describe(counts, lost):
    words = ngettext(
        "%(count)s session was read again by the rules of this version.",
        "%(count)s sessions were read again by the rules of this version.",
        counts["sessions"],
    )
    changed = ngettext(
        "%(count)s sample has other words now.", "%(count)s samples have other words now.", counts["changed"]
    )
    parts = [words % {"count": f"{counts['sessions']:,}"}]
    parts += [changed % {"count": f"{counts['changed']:,}"}] if counts["changed"] else []
    for noun, rows in lost.items():
        words = {"rows": format_amount(noun, rows["count"]), "named": listed(rows["names"])}
        parts.append(_("The turn of %(rows)s is not stored any more: %(named)s.") % words)
    return " ".join(parts)


JOB = Kind(
    run=run,
    label=gettext_lazy("Read sessions again"),
    audit_text=gettext_lazy("started to read sessions again"),
    cancel_text=gettext_lazy("Sessions already read are kept; the next run continues."),
    describe_result=lambda result: str(result["message"]),
)
