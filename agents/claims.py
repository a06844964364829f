"""Assigns agents of an OpenClaw home to agents here, by names and claims."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.pages.glyphs import escape_name

from . import databases, services, visits
from .homes import Home, normalise_or_empty
from .layout import home_agents
from .layout.places import Oddity, OddityReason
from .models import Agent, CollectorSource
from .sources import compute_source_key


def find_root(source: str | Path) -> Path:
    """Return the path of a home in its rows: as first imported, else its real path."""
    path = Path(source).expanduser().absolute()
    real = path.resolve()
    try:
        rows = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT).order_by()
        known = sorted(rows.values_list("root", flat=True).distinct())
    except DatabaseError:  # the store is damaged: its next reader reports that
        return real
    same = [root for root in known if Path(root).resolve() == real]
    return Path(next((root for root in (str(path), str(real)) if root in same), next(iter(same), str(real))))


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """The agents of a home by their names there, and sentences on agents without a file.

    `lost` has the sentences by the agents' names here, `unchanged` what the last import noted of agents whose files
    nobody has written since.
    """

    agents: dict[str, Agent]
    lost: dict[str, str]
    unchanged: dict[str, dict[str, Any]]


def claim_agents(
    home: Home, *, as_name: str | None = None, folder: str | None = None, anew: frozenset[str] = frozenset()
) -> ClaimResult:
    """Return the agents of a home, and register new ones.

    Raises Refused for a name that is taken, or when the files of all agents are lost.

    `as_name` and `folder` as for `resolve_names`. Agents in `anew` get a new file when theirs is lost
    or damaged; a damaged one is kept beside it.
    """
    agents, lost = {}, {}
    names = resolve_names(home, as_name=as_name, folder=folder)
    unchanged = visits.find_unchanged(set(names.values()) - anew)
    known = Agent.objects.in_bulk(unchanged)
    for name, agent_id in names.items():
        if agent_id in known and unchanged[agent_id]["place"] == [str(home.root), name]:
            agents[name] = known[agent_id]
            continue
        try:
            if agent_id in anew:
                databases.move_damaged_aside(agent_id)
            agents[name] = _register(home.root, name, agent_id, anew=agent_id in anew)
        except databases.LostAgentFile as exc:
            lost[agent_id] = str(exc)
        except databases.OldAgentFile as exc:
            is_damaged = databases.is_damaged(agent_id)  # else nothing is wrong with its content
            lost[agent_id] = f"{exc} {databases.describe_replacement(agent_id)}" if is_damaged else str(exc)
    if lost and not agents:
        raise Refused(" ".join(lost.values()))
    return ClaimResult(agents, lost, unchanged)


def resolve_names(home: Home, *, as_name: str | None = None, folder: str | None = None) -> dict[str, str]:
    """Return the names here by the names in the home; stores nothing, raises Refused.

    These are the names that `claim_agents` would give. Refused is raised for a name that is taken. `as_name` renames:
    `main`, or the only agent, becomes NAME, and every other one NAME-<its own name>; with `folder` it renames the agent
    of this folder alone. An agent that cannot have an id, or whose id another one has, is removed from the home, with
    an oddity.
    """
    names = [agent.home_name for agent in home.agents]
    claims = {row.agent_id: row for row in CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT)}
    own_claims = {row.path: row.agent_id for row in claims.values() if row.root == str(home.root)}
    agent_ids = {name: _choose_id(name, names, as_name, folder) for name in names}
    for name in names:
        if agent_ids[name] not in ("", own_claims.get(name, agent_ids[name])) and (
            as_name if folder is None else name == folder
        ):
            raise Refused(
                _(
                    "This OpenClaw folder is already imported; its agent “%(name)s” is called “%(agent)s”. Import "
                    "the folder without another name."
                )
                % {"name": name, "agent": own_claims[name]}
            )
        agent_ids[name] = own_claims.get(name, agent_ids[name])
    agent_ids = _drop_conflicts(home, agent_ids, own_claims)
    for name, agent_id in agent_ids.items():
        holder = claims.get(agent_id)
        is_ours = holder and holder.root == str(home.root) and normalise_or_empty(holder.path) == agent_id
        if holder and not is_ours and (holder.root, holder.path) != (str(home.root), name):
            raise Refused(
                _(
                    "The agent “%(agent)s” was imported from %(root)s. If that folder was moved to %(place)s, run "
                    "“openclaw-web collect --moved-from %(root)s”; otherwise import these agents under another name."
                )
                % {"agent": agent_id, "root": holder.root, "place": home.root}
            )
    return agent_ids


def _choose_id(name, names, as_name, folder):
    if as_name is None or folder not in (None, name):
        return normalise_or_empty(name)
    base = services.normalise_agent_id(as_name)
    first = folder or ("main" if "main" in names else names[0])
    return base if name == first else normalise_or_empty(f"{base}-{name}")


def _drop_conflicts(home, agent_ids, own_claims):
    """Return the names without conflicts; other agents are removed from the home.

    Of several agents with one id, the one whose own name it is has precedence, then the older one. An agent that was
    imported under another name keeps that name.
    """

    def rank(name):
        is_renamed = name in own_claims and own_claims[name] != normalise_or_empty(name)
        return not is_renamed, name != agent_ids[name], name not in own_claims, name

    chosen = {}
    for name in sorted(agent_ids, key=rank):
        other = next((taken_name for taken_name, agent_id in chosen.items() if agent_id == agent_ids[name]), None)
        if agent_ids[name] and other is None:
            chosen[name] = agent_ids[name]
        else:
            home.add_oddities(_build_name_oddity(name, agent_ids[name], other))
    home.agents = [agent for agent in home.agents if agent.home_name in chosen]
    return {name: chosen[name] for name in agent_ids if name in chosen}


def follow_reported_workspaces(home: Home, names: dict[str, str]) -> None:
    """Set each agent's workspace to the one of its newest report.

    `names` are the names here by the names in the home.
    """
    rows = Agent.objects.filter(agent_id__in=names.values()).values_list("agent_id", "reported_workspace")
    reported = dict(rows)
    home.agents = [
        home_agents.follow_reported_workspace(home, agent, reported.get(names.get(agent.home_name), ""))
        for agent in home.agents
    ]


@dataclass(frozen=True, slots=True)
class HomeName:
    """A folder, named by the shortest end of its path that no other folder has."""

    short: str
    path: str


def find_home_names() -> dict[str, HomeName]:
    """Return the folder of each agent; empty when all have the same one."""
    claims = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT)
    roots = dict(claims.values_list("agent_id", "root"))
    if len(set(roots.values())) < 2:
        return {}
    short = _find_short_names(set(roots.values()))
    return {agent_id: HomeName(short[root], root) for agent_id, root in roots.items()}


def _build_name_oddity(name, agent_id, other):
    words = {"name": escape_name(name), "agent": agent_id, "other": escape_name(other or "")}
    if other is None:
        sentence = _("agents/%(name)s was not imported: its name is not a valid agent name.")
    else:
        sentence = _("agents/%(name)s was not imported: the agent %(agent)s is imported from agents/%(other)s.")
    advice = _("Rename the folder, or import it under another name: “openclaw-web collect --agent %(name)s --as NAME”.")
    return Oddity(OddityReason.NAME, f"agents/{name}", f"{sentence % words} {advice % words}", name)


def _register(root, name, agent_id, *, anew):
    agent = services.register(agent_id, home_name=name, anew=anew)
    databases.get_alias(agent_id)  # raises if its file cannot be used
    key = compute_source_key(root, CollectorSource.Kind.AGENT, name)
    with transaction.atomic():
        earlier = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, root=str(root), agent_id=agent_id)
        if earlier.exclude(source_key=key).delete()[
            0
        ]:  # its folder has another name now, or another folder has precedence
            Agent.objects.filter(agent_id=agent_id).update(home_name=name)
            agent.home_name = name
        CollectorSource.objects.get_or_create(
            source_key=key,
            defaults={
                "kind": CollectorSource.Kind.AGENT,
                "root": str(root),
                "path": name,
                "agent_id": agent_id,
            },
        )
    return agent


def _find_short_names(roots):
    parts, names = {root: PurePath(root).parts for root in roots}, {}
    for length in range(1, max(map(len, parts.values())) + 1):
        ends = Counter("/".join(path[-length:]) for path in parts.values())
        for root, path in parts.items():
            end = "/".join(path[-length:])
            if root not in names and ends[end] == 1:
                names[root] = end
    return {root: names.get(root, root) for root in roots}
