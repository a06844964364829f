"""The job that fills the indexes of words."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from jobs.kinds import MINUTE_MS, Kind, Schedule

from . import fill


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Add what is new to all indexes; with `rebuild`, build those of an agent, or all, anew.

    Running it again goes on where it was.
    """
    return fill.fill_all(progress, agent_id=params.get("agent", ""), is_anew=params.get("rebuild", False))


JOB = Kind(
    run=run,
    label=_("Fill the search"),
    audit_text=_("started to fill the search"),
    cancel_text=_("Words already added are kept; the next run continues."),
    schedule=Schedule("schedule.searchMinutes", MINUTE_MS, dict, fill.is_needed),
)
