"""Where the words of people who opted out still are after they left the store: for a person to decide."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.models import Agent
from artifacts.models import Artifact
from datasets.models import DatasetSample

from .models import BackupRun

LISTED = 500


def tell(made_again: Mapping[str, Any]) -> dict[str, Any]:
    """Samples, artifacts and backups that hold what was withheld or taken out now, at most 500 of each.

    `made_again` is what collecting again came to, by agent. Artifacts are contents no record of theirs uses any more;
    `artifact gc` removes those that nobody else uses. Each backup there is was made before and counts.
    """
    samples, handles = [], set()
    for agent_id, made in made_again.items():
        samples += _samples(agent_id, made)
        handles |= made.artifacts
    is_any = any(made.withheld or made.taken_out for made in made_again.values())
    return {
        "samples": samples[:LISTED],
        "artifacts": [{"handle": one, "used_by": _users(one)} for one in sorted(handles)[:LISTED]],
        "backups": _backups() if is_any else [],
    }


def _samples(agent_id, made):
    of_agent = DatasetSample.objects.filter(agent_id=agent_id).order_by("id")
    found = list(of_agent.filter(session_id__in=made.taken_out).values_list("id", flat=True)[:LISTED])
    for session_id, record_ids in made.withheld.items():
        turns = [f"{session_id}:{record_id}" for record_id in record_ids]
        found += of_agent.filter(session_id=session_id, turn_id__in=turns).values_list("id", flat=True)[:LISTED]
    return found


def _users(handle):
    """Agents with records that still use a content."""
    agents = Agent.objects.order_by("agent_id")
    return [one.agent_id for one in agents if Artifact.objects.using(one.db).filter(handle=handle).exists()]


def _backups():
    rows = BackupRun.objects.exclude(archive_path="").order_by("-created_at").values_list("archive_path", flat=True)
    return [path for path in rows[:LISTED] if Path(path).exists()]
