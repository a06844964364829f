"""Decisions in logs of the plugin that belong to no agent of an OpenClaw folder: counted, never stored.

A row of `kv` for each folder: by workspace, how many there are and when the latest was made.
"""

from pathlib import Path

from django.db import transaction
from django.utils.translation import ngettext

from openclaw_web.pages.glyphs import escape_name
from people.models.bookkeeping import KeyValue

from ..collectors.source_decisions import SourceDecision

SCOPE = "foreign_decisions"
MOST_WORKSPACES = 20
LONGEST = 500
Moments = dict[str, list[int]]  # by workspace: when each decision was made


def add_decision(moments: Moments, decision: SourceDecision, *, is_of_workspace: bool) -> None:
    """Take note of a decision that is left out: because of its workspace, else because of its session."""
    if decision.failure:
        return
    workspace = (decision.workspace or "")[:LONGEST] if is_of_workspace else ""
    if workspace in moments or len(moments) < MOST_WORKSPACES:
        moments.setdefault(workspace, []).append(decision.at)


def count_new(root: Path, moments: Moments) -> dict[str, int]:
    """Count decisions that were not counted before; how many are new of each workspace.

    Logs are read again and again: what is not later than the latest that was counted is known.
    """
    news = {}
    with transaction.atomic():
        counted = _counted(root)
        for workspace, times in moments.items():
            count, latest = counted.get(workspace, (0, -1))
            later = [at for at in times if at > latest]
            if later and (workspace in counted or len(counted) < MOST_WORKSPACES):
                counted[workspace] = (count + len(later), max(later))
                news[workspace] = len(later)
        if news:
            KeyValue.objects.put(SCOPE, str(root), counted)
    return news


def describe_all(root: Path) -> list[str]:
    """What was left out of a folder so far."""
    return [describe_workspace(workspace, count) for workspace, (count, _latest) in _counted(root).items()]


def describe_workspace(workspace: str, count: int) -> str:
    """Say how many decisions were left out, and why."""
    if workspace:
        words = ngettext(
            "%(count)s decision of memory_gate was left out: no agent of this OpenClaw folder has the workspace that "
            "the log names, %(workspace)s.",
            "%(count)s decisions of memory_gate were left out: no agent of this OpenClaw folder has the workspace that "
            "the log names, %(workspace)s.",
            count,
        )
    else:
        words = ngettext(
            "%(count)s decision of memory_gate was left out: no agent of this OpenClaw folder has its session.",
            "%(count)s decisions of memory_gate were left out: no agent of this OpenClaw folder has their sessions.",
            count,
        )
    return words % {"count": f"{count:,}", "workspace": escape_name(workspace)}


def _counted(root):
    counted = KeyValue.objects.filter(scope=SCOPE, key=str(root)).decoded().get(str(root), {})
    return {name: tuple(values) for name, values in counted.items()}
