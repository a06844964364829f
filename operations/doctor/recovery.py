"""What the store has lost, had again: from sources and OpenClaw's archives, else the backup that holds it is named."""

from collections import Counter, defaultdict
from typing import Any

from django.utils.translation import gettext as _

from agents import holdings
from agents.database_copies import Copies
from agents.holdings import Holding
from agents.models import Agent, CollectorSource
from agents.services import is_lost
from collecting import collect
from collecting.stages import holding_checks

from . import plan
from .plan import Plan
from .sources import backup_search
from .store import losses
from .store.losses import Loss

IMPORT_PARAMS = ("source", "as", "include_deleted")
LISTED = 500


def is_needed(made: Plan) -> bool:
    """Whether anything is to be read again."""
    here = set(made.names.values())
    is_lost = any(loss.agent in here for loss in made.counts.losses.values())
    return is_lost or any(one.repair == losses.IMPORT_AGAIN for one in made.store)


def import_lost_agents(made: Plan, params: dict[str, Any], progress: Any, facts: dict[str, Any]) -> None:
    """Read agents of this home again whose files are gone, into files of their own: no backup is made without them."""
    for agent_id in made.names.values():
        if is_lost(agent_id):
            progress.log(_("Importing agent %(agent)s again") % {"agent": agent_id})
            _again(params, progress, agent_id, [])
            facts.setdefault("refilled", []).append(agent_id)


def import_lost_records(made: Plan, params: dict[str, Any], progress: Any, facts: dict[str, Any]) -> None:
    """Read again what is missing or different, compare once more, and say where the rest can be had."""
    wanted = _sessions(made)
    _forget(made)
    for agent_id, ids in sorted(wanted.items()):
        progress.log(_("Importing agent %(agent)s again") % {"agent": agent_id})
        if ids or agent_id not in facts.get("refilled", ()):
            _again(params, progress, agent_id, sorted(ids))
    after = _look_again(made, params, progress)
    _count_the_rest(after)
    left = list(after.counts.losses.values())
    backup_search.find_backups(left, progress, own=facts["backup"]["path"])
    before = sum(loss.missing + loss.different for loss in made.counts.losses.values())
    still = sum(loss.missing + loss.different for loss in left)
    facts["read_again"] = {
        "agents": sorted(wanted),
        "sessions": sum(map(len, wanted.values())),
        "records": max(0, before - still),
        "compared": plan.build_comparison(after),
    }
    facts["losses"] = [loss.as_json() for loss in left[:LISTED]]
    facts["loss_count"], facts["lost_records"] = len(left), still
    facts["backups"] = backup_search.as_json(left)
    if params.get("accept_losses"):  # of this home: another one may still have what its agents lost
        here = set(made.names.values())
        _accept(after, [loss for loss in left if not loss.where and loss.agent in here])


def _sessions(made) -> dict[str, set[str]]:
    """Agent of this home -> sessions that lost something; no ids for one of which other rows are to be read again."""
    wanted: dict[str, set[str]] = defaultdict(set)
    here = set(made.names.values())
    for loss in made.counts.losses.values():
        if loss.agent in here:
            wanted[loss.agent].add(loss.session_id)
    for one in made.store:
        if one.repair == losses.IMPORT_AGAIN and one.agent in here:
            wanted.setdefault(one.agent, set())
    if any(source.lost for source in made.sources) and not wanted and here:
        wanted[min(here)] = set()
    return wanted


def _again(params, progress, agent_id, ids):
    told = {name: params[name] for name in IMPORT_PARAMS if params.get(name)} | {"agent": agent_id}
    if ids:
        told |= {"again": True, "session": ids}
    elif is_lost(agent_id):
        told["again"] = True
    collect.run(told, progress)


def _forget(made):
    """A source of rows that are missing counts as never read: the collect that follows reads it whole."""
    names = {source.name for source in made.sources if source.lost}
    rows = CollectorSource.objects.filter(root=str(made.root))
    for name in names:
        rows.filter(path=name).delete()
        rows.filter(path__startswith=f"{name}~").delete()
        rows.filter(path=f"{name}-wal").delete()


def _look_again(made, params, progress) -> Plan:
    """The same comparison as before, of the store as it is now."""
    with Copies() as copies:
        return plan.build_plan({**params, "deep": made.is_deep}, progress, copies)


def _count_the_rest(after):
    """Sessions that nobody noted and whose sources are gone are noted as they are: nothing can tell what they had."""
    for agent_id, count in after.counts.not_noted.items():
        if count and agent_id in after.names.values():
            own = after.counts.held[agent_id].keys() - holdings.read_holdings(agent_id).keys()
            own -= holdings.read_removed(agent_id).keys()
            holding_checks.count_again(Agent.objects.get(agent_id=agent_id), own)


def _accept(after: Plan, given_up: list[Loss]):
    """What can no longer be had is not missed any more; what is in a backup stays noted."""
    kinds: dict[tuple[str, str], set[str]] = defaultdict(set)
    for loss in given_up:
        kinds[loss.agent, loss.session_id].add(loss.kind)
    for (agent_id, session_id), names in kinds.items():
        held = after.counts.held.get(agent_id, {}).get(session_id, Holding())
        noted = holdings.read_holding(agent_id, session_id).kinds
        wanted = held.kinds | Counter({kind: number for kind, number in noted.items() if kind not in names})
        holdings.note_holding(
            agent_id, session_id, Holding(wanted, held.checksum if wanted == held.kinds else ""), anew=True
        )
