"""The job that scans the texts of all agents for personal data and secrets."""

from typing import Any

from django.utils.translation import gettext_lazy

from jobs.kinds import MINUTE_MS, Kind, Schedule

from . import scan


def run(_params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Scan what was imported since the last scan; return the counts as JSON-able values.

    Running it again scans what is left.
    """
    return scan.scan_all(progress)


def in_words(result: dict[str, Any]) -> str:
    """The result in a sentence."""
    return result["message"]


JOB = Kind(
    run=run,
    label=gettext_lazy("Scan for personal data and secrets"),
    audit_text=gettext_lazy("started a scan for personal data and secrets"),
    cancel_text=gettext_lazy("Findings already stored are kept; the next run continues."),
    describe_result=in_words,
    schedule=Schedule("schedule.findingsScanMinutes", MINUTE_MS, dict, scan.is_needed),
)
