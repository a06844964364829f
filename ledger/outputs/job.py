"""The job that brings an older store up to date: big outputs become artifacts, sessions get their sums by tool."""

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import databases
from agents.models import Agent
from jobs.kinds import Kind
from openclaw_web import amounts
from openclaw_web.errors import Refused
from openclaw_web.sqlite import waiting

from ..models import Session
from . import moving

SCHEMA = "openclaw-web.stash_outputs.v1"
SUMMED = ("counted", "records", "outputs", "chars", "unreadable")


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Move the outputs of `params["agent"]` (default: of every agent) and count them; JSON-able sums of what was done.

    Running it again moves what is left. Raises Refused for an agent that is not there, and when the artifact store
    cannot be written: what was moved until then stays moved.
    """
    stores = _stores(params.get("agent"))
    total = sum(Session.objects.using(db).count() for db in stores.values())
    done, agents = 0, {}
    for agent_id, db in stores.items():

        def hear(agent_id=agent_id):
            nonlocal done
            done += 1
            progress.update(done, total, _("Storing outputs of %(agent)s") % {"agent": agent_id})

        waiting.expect_many_writes(db)
        agents[agent_id] = asdict(moving.move(db, on_session=hear))
        waiting.expect_few_writes(db)
    sums = {name: sum(agent[name] for agent in agents.values()) for name in SUMMED}
    told = {"outputs": f"{sums['outputs']:,}", "records": amounts.of("records", sums["records"])}
    told["chars"] = amounts.of("characters", sums["chars"])
    words = ngettext(
        "%(outputs)s output of %(records)s was stored as an artifact, %(chars)s.",
        "%(outputs)s outputs of %(records)s were stored as artifacts, %(chars)s.",
        sums["outputs"],
    )
    message = words % told
    if not sums["outputs"]:
        message = _("No record contains an output that should be an artifact.")
    if sums["counted"]:
        words = ngettext("%(count)s session was counted.", "%(count)s sessions were counted.", sums["counted"])
        message += " " + words % {"count": f"{sums['counted']:,}"}
    return {"message": message, **sums, "agents": agents}


def in_words(result: dict[str, Any]) -> str:
    """A line for all, a line for each agent in which something was moved."""
    lines = [result["message"]]
    for agent_id, agent in result["agents"].items():
        if agent["records"] or agent["unreadable"]:
            told = {name: amounts.of(name, agent[name]) for name in ("outputs", "records", "sessions")}
            lines.append(_("  %(agent)s: %(outputs)s of %(records)s in %(sessions)s") % {"agent": agent_id, **told})
    if result["unreadable"]:
        words = ngettext(
            "%(count)s damaged record was not changed.",
            "%(count)s damaged records were not changed.",
            result["unreadable"],
        )
        lines.append(words % {"count": f"{result['unreadable']:,}"})
    return "\n".join(lines)


def _stores(agent_id):
    """The alias of every agent that is asked for."""
    found = Agent.objects.order_by("agent_id").values_list("agent_id", flat=True)
    names = [name for name in found if agent_id in (None, name)]
    if agent_id and not names:
        raise Refused(_("There is no agent %(agent)s.") % {"agent": agent_id})
    try:
        return {name: databases.alias(name) for name in names}
    except (databases.UnknownAgent, databases.OldAgentFile) as exc:
        raise Refused(str(exc)) from exc


JOB = Kind(
    run=run,
    label=gettext_lazy("Store large outputs"),
    started=gettext_lazy("started to store large outputs"),
    kept=gettext_lazy("Outputs already stored as artifacts are kept; run the job again to continue."),
    done=in_words,
)
