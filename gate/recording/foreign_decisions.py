"""Counts decisions in the plugin's logs that belong to no agent of an OpenClaw folder.

They are never stored. Each folder has one row of `kv`: by workspace, how many there are and when the latest was made.
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
Moments = dict[str, list[int]]  # by workspace: the times of its decisions, milliseconds


def add_decision(moments: Moments, decision: SourceDecision, *, is_of_workspace: bool) -> None:
    """Take note of a decision that is left out.

    It is left out because of its workspace, or else because of its session.
    """
    if decision.failure:
        return
    workspace = (decision.workspace or "")[:LONGEST] if is_of_workspace else ""
    if workspace in moments or len(moments) < MOST_WORKSPACES:
        moments.setdefault(workspace, []).append(decision.at)


def count_new(root: Path, moments: Moments) -> dict[str, int]:
    """Count decisions that were not counted before, and return the new ones by workspace.

    Logs are read again and again: a decision no later than the latest counted one is known.
    """
    new_counts = {}
    with transaction.atomic():
        counts = _read_counts(root)
        for workspace, times in moments.items():
            count, latest = counts.get(workspace, (0, -1))
            later = [at for at in times if at > latest]
            if later and (workspace in counts or len(counts) < MOST_WORKSPACES):
                counts[workspace] = (count + len(later), max(later))
                new_counts[workspace] = len(later)
        if new_counts:
            KeyValue.objects.put(SCOPE, str(root), counts)
    return new_counts


def describe_all(root: Path) -> list[str]:
    """Return a sentence for each workspace whose decisions were left out."""
    return [describe_workspace(workspace, count) for workspace, (count, _latest) in _read_counts(root).items()]


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


def _read_counts(root):
    counts = KeyValue.objects.filter(scope=SCOPE, key=str(root)).decoded().get(str(root), {})
    return {name: tuple(values) for name, values in counts.items()}
