"""The job that reads sessions again whose turns were made by other rules (ledger.rules); their samples follow."""

import os
from collections import Counter
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import databases
from agents.claims import find_root, resolve_names
from agents.layout.home_agents import read_home
from agents.models import Agent, CollectorSource
from datasets.kinds.changed_turns import follow_turns
from jobs.kinds import Kind
from ledger.models import Session
from ledger.rebuild import sums
from overview import summaries

from . import collect


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
        counts += follow_turns(agent, progress)
    result = {"sessions": sum(map(len, older.values())), "changed": counts["changed"], "sent": counts["sent"]}
    return {"message": _describe(result), **result}


def _list_older(db):
    return list(Session.objects.using(db).list_ids_to_read_again()) if db else []


def _describe(counts):
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
    return " ".join(parts)


JOB = Kind(
    run=run,
    label=gettext_lazy("Read sessions again"),
    audit_text=gettext_lazy("started to read sessions again"),
    cancel_text=gettext_lazy("Sessions already read are kept; the next run continues."),
    describe_result=lambda result: str(result["message"]),
)
