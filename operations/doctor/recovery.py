"""Recovers lost records from sources and OpenClaw's archives, and names backups with the rest."""

from collections import Counter, defaultdict
from typing import Any

from django.utils.translation import gettext as _

from agents import holdings
from agents.database_copies import Copies
from agents.holdings import Holding
from agents.models import Agent
from agents.services import has_no_content
from collecting import agent_reimport, collect
from collecting.stages import holding_checks
from overview import summaries

from . import plan
from .plan import Plan
from .sources import backup_search
from .sources.session_comparison import BESIDE
from .store import losses
from .store.losses import Loss


def is_needed(repair_plan: Plan) -> bool:
    """Whether lost records are to be imported again."""
    own_agents = set(repair_plan.names.values())
    is_lost = any(loss.agent in own_agents for loss in repair_plan.counts.losses.values())
    is_lost = is_lost or repair_plan.compared.row_count > 0
    return is_lost or any(finding.repair == losses.IMPORT_AGAIN for finding in repair_plan.store)


def import_lost_agents(repair_plan: Plan, params: dict[str, Any], progress: Any, facts: dict[str, Any]) -> None:
    """Import agents of this home again whose files are missing or blank.

    Each gets a new file: no backup is created without them.
    """
    for agent_id in repair_plan.names.values():
        if has_no_content(agent_id):
            progress.log(_("Importing agent %(agent)s again") % {"agent": agent_id})
            _import_again(params, progress, agent_id, [])
            facts.setdefault("refilled", []).append(agent_id)


def import_lost_records(repair_plan: Plan, params: dict[str, Any], progress: Any, facts: dict[str, Any]) -> None:
    """Import missing and different records again, and compare once more.

    The facts then say where the records that are still lost can be found.
    """
    lost_sessions = _find_lost_sessions(repair_plan)
    for agent_id, ids in sorted(lost_sessions.items()):
        progress.log(_("Importing agent %(agent)s again") % {"agent": agent_id})
        if ids or agent_id not in facts.get("refilled", ()):
            _import_again(params, progress, agent_id, sorted(ids))
    _rebuild_others(repair_plan, params, progress)
    # Make rows beside sessions those of their sources.
    if any(BESIDE in sessions for sessions in repair_plan.compared.rows.values()):
        with Copies() as copies:
            plan.check_home(Plan(repair_plan.root, is_deep=True, is_mending=True), params, progress, copies)
    with Copies() as copies:  # the same check of the store as it is now
        after = plan.build_plan({**params, "deep": repair_plan.is_deep}, progress, copies)
    _note_uncounted_sessions(after)
    still_lost = list(after.counts.losses.values())
    backup_search.find_backups(still_lost, progress, own=facts["backup"]["path"])
    before = sum(loss.missing + loss.different for loss in repair_plan.counts.losses.values())
    lost_count = sum(loss.missing + loss.different for loss in still_lost)
    facts["read_again"] = {
        "agents": sorted(lost_sessions),
        "sessions": sum(map(len, lost_sessions.values())),
        "records": max(0, before - lost_count),
        "compared": plan.build_comparison(after),
    }
    facts["losses"] = [loss.as_json() for loss in still_lost[: plan.LISTED]]
    facts["loss_count"], facts["lost_records"] = len(still_lost), lost_count
    facts["rows"], facts["row_count"] = after.compared.as_json(), after.compared.row_count
    facts["backups"] = backup_search.as_json(still_lost)
    if params.get("accept_losses"):  # only agents of this home: other homes may still have the records of their agents
        own_agents = set(repair_plan.names.values())
        _accept_losses(after, [loss for loss in still_lost if not loss.where and loss.agent in own_agents])


def _find_lost_sessions(repair_plan) -> dict[str, set[str]]:
    """Sessions with losses by agent; no ids for an agent with other lost rows."""
    sessions: dict[str, set[str]] = defaultdict(set)
    own_agents = set(repair_plan.names.values())
    for loss in repair_plan.counts.losses.values():
        if loss.agent in own_agents:
            sessions[loss.agent].add(loss.session_id)
    for agent_id, rows in repair_plan.compared.rows.items():
        if agent_id in own_agents and rows:
            sessions[agent_id] |= rows.keys() - {BESIDE}
    for finding in repair_plan.store:
        if finding.repair == losses.IMPORT_AGAIN and finding.agent in own_agents:
            sessions.setdefault(finding.agent, set())
    return sessions


def _rebuild_others(repair_plan, params, progress):
    """Derive sessions of agents of other OpenClaw folders again from their stored records."""
    for agent_id, rows in repair_plan.compared.rows.items():
        if rows and agent_id and agent_id not in repair_plan.names.values():
            agent = Agent.objects.get(agent_id=agent_id)
            with Copies() as copies, collect.exclusive_run(progress):
                collection = plan.build_collection(None, {}, params, progress, copies)
                agent_reimport.rebuild_from_records(collection, agent, rows)
                summaries.refresh(agent)


def choose_import_params(params: dict[str, Any]) -> dict[str, Any]:
    """Those parameters of a repair that its imports get too."""
    return {name: params[name] for name in ("source", "as", "include_deleted") if params.get(name)}


def _import_again(params, progress, agent_id, ids):
    import_params = choose_import_params(params) | {"agent": agent_id}
    if ids:
        import_params |= {"again": True, "session": ids}
    elif has_no_content(agent_id):
        import_params["again"] = True
    collect.run(import_params, progress)


def _note_uncounted_sessions(new_plan):
    """Note the counts of sessions that were never noted and whose sources are gone.

    Their earlier counts are not known.
    """
    for agent_id, count in new_plan.counts.not_noted.items():
        if count and agent_id in new_plan.names.values():
            own = new_plan.counts.held[agent_id].keys() - holdings.read_holdings(agent_id).keys()
            own -= holdings.read_removed(agent_id).keys()
            holding_checks.count_again(Agent.objects.get(agent_id=agent_id), own)


def _accept_losses(new_plan: Plan, given_up: list[Loss]):
    """Stop reporting losses that cannot be recovered; losses that a backup holds stay noted."""
    kinds: dict[tuple[str, str], set[str]] = defaultdict(set)
    for loss in given_up:
        kinds[loss.agent, loss.session_id].add(loss.kind)
    for (agent_id, session_id), names in kinds.items():
        held = new_plan.counts.held.get(agent_id, {}).get(session_id, Holding())
        noted = holdings.read_holding(agent_id, session_id).kinds
        kind_counts = held.kinds | Counter({kind: number for kind, number in noted.items() if kind not in names})
        holdings.note_holding(
            agent_id, session_id, Holding(kind_counts, held.checksum if kind_counts == held.kinds else ""), anew=True
        )
