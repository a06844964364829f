"""Which OpenClaw folder an agent comes from, where a site has imported from several."""

from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath

from agents.models import CollectorSource


@dataclass(frozen=True, slots=True)
class HomeName:
    """A folder by the shortest end of its path that no other one has."""

    short: str
    path: str


def home_names() -> dict[str, HomeName]:
    """The folder of each agent; of none where all come from the same one."""
    claims = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT)
    roots = dict(claims.values_list("agent_id", "root"))
    if len(set(roots.values())) < 2:
        return {}
    short = _short_names(set(roots.values()))
    return {agent_id: HomeName(short[root], root) for agent_id, root in roots.items()}


def _short_names(roots):
    parts, names = {root: PurePath(root).parts for root in roots}, {}
    for length in range(1, max(map(len, parts.values())) + 1):
        ends = Counter("/".join(path[-length:]) for path in parts.values())
        for root, path in parts.items():
            end = "/".join(path[-length:])
            if root not in names and ends[end] == 1:
                names[root] = end
    return {root: names.get(root, root) for root in roots}
