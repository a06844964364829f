"""Problems that follow from another one fold under it while both are open.

A kind declares which kinds it causes. Problems of other agents, and those that began before the cause, do not fold.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import kinds
from .models import Problem
from .words import UNUSABLE, ProblemDisplay, build_display, open_rows

BEFORE_MS = 5 * 60_000  # a cause may be noticed that much later than what follows from it
MOST = 2_000  # problems that are compared with the causes
Causes = Mapping[str, Mapping[str, Callable[[kinds.Facts], bool]]]


def find_causes(user: Any, problems: list[Problem] | None = None) -> dict[str, str]:
    """Return the ids of the open problems that follow from another one, each with the id of that cause.

    A cause that the person may not see has none. Where a cause follows from another one, it is the first of all.
    `problems`: those that are compared, if not all; these are read once for a request.
    """
    caused = {name: kinds.all_kinds()[name].causes for name in kinds.visible_to(user)}
    rows = getattr(user, "problems_with_causes", None) if problems is None else problems
    if rows is None:
        names = {name for cause, followers in caused.items() if followers for name in (cause, *followers)}
        rows = user.problems_with_causes = list(open_rows().filter(kind__in=names)[:MOST])
    causes = [row for row in rows if caused.get(row.kind)]
    cause_ids = {}
    for row in rows if causes else ():
        cause = next((cause for cause in causes if _is_caused(row, cause, caused)), None)
        if cause:
            cause_ids[row.id] = cause.id
    return {row_id: _find_first(cause_ids, row_id) for row_id in cause_ids}


def build_followers(rows: Iterable[Problem], causes: Mapping[str, str], user: Any) -> dict[str, list[ProblemDisplay]]:
    """Return what follows from each of some problems, as a person sees it, by the id of the cause.

    Problems that are rows themselves are left out.
    """
    row_ids = {row.id for row in rows}
    ids = [row_id for row_id, cause_id in causes.items() if cause_id in row_ids and row_id not in row_ids]
    followers: dict[str, list[ProblemDisplay]] = defaultdict(list)
    for row in open_rows().filter(id__in=ids, kind__in=kinds.visible_to(user)):
        followers[causes[row.id]].append(build_display(row, user))
    return followers


def _is_caused(row: Problem, cause: Problem, caused: Causes) -> bool:
    accepts = caused[cause.kind].get(row.kind)
    if accepts is None or row.id == cause.id or row.since_at < cause.since_at - BEFORE_MS:
        return False
    agents = [cause.agent_id] if cause.agent_id else cause.detail.get("agents")
    if agents is not None and row.agent_id not in agents:
        return False
    try:
        return accepts(row.detail)
    except UNUSABLE:
        return False


def _find_first(cause_ids: Mapping[str, str], row_id: str) -> str:
    """Return the cause that follows from nothing itself; kinds cause each other in no circle."""
    cause_id = cause_ids[row_id]
    while cause_id in cause_ids:
        cause_id = cause_ids[cause_id]
    return cause_id
