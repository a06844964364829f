"""Copies verdicts to places and samples: at once, or by a job where there are many."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from findings.detection import read_version
from findings.models import Finding
from jobs import services as jobs
from jobs.kinds import MINUTE_MS, Kind, Schedule
from jobs.models import JobRun
from people.models.bookkeeping import KeyValue

from ..models import DatasetSample, FindingVerdict
from . import sample_privacy, state_copies

COPY, CHECK = "finding_verdict", "sample_privacy"  # the names of the jobs
MOST_PLACES = 10_000  # that a request copies a verdict to
NOTED = ("datasets", "sample_privacy_rules")  # the rules by which all samples were searched
RULE = FindingVerdict.Scope.RULE


def copy_or_queue(row: FindingVerdict, *, by: str) -> None:
    """Copy a verdict that was just stored; with many places or samples, queue a job."""
    if not _is_large(row):
        _copy(row)
        return
    if row.scope != RULE:  # so that its page and the list show the new state at once
        state_copies.copy_value_to_summary(row.value_hash)
    jobs.start(COPY, {"verdict": row.id}, by=by)


def run_copy(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Copy a verdict to all its places and samples; return the counts as JSON-able values.

    Running it again copies what is in force then.
    """
    row = FindingVerdict.objects.filter(id=params["verdict"]).first()
    count = _copy(row, progress) if row else 0
    return {"message": _describe(count), "samples": count}


def run_check(_params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Search all samples again, and note by which rules; return the counts as JSON-able values."""
    rules = read_version()
    count = sample_privacy.refresh_all(progress)
    KeyValue.objects.put(*NOTED, rules)
    return {"message": _describe(count), "samples": count}


def is_check_needed() -> bool:
    """Whether there are samples that were searched by other rules than those in force."""
    if not DatasetSample.objects.exists():
        return False
    noted = KeyValue.objects.filter(scope=NOTED[0], key=NOTED[1]).first()
    return noted is None or noted.value != read_version()


def is_under_way() -> bool:
    """Whether a job that sets columns of samples is queued or running."""
    jobs_of_kinds = jobs.find_by_kind([COPY, CHECK], state__in=(JobRun.State.QUEUED, JobRun.State.RUNNING))
    return any(rows.exists() for rows in jobs_of_kinds)


def _is_large(row):
    columns, room = _name_subject(row), MOST_PLACES
    for _agent, db in _list_holders(row):
        room -= Finding.objects.using(db).filter(**columns)[: room + 1].count()
        if room < 0:
            return True
    return sample_privacy.is_large(_list_holders(row), columns)


def _copy(row, progress=None):
    if row.scope == RULE:
        state_copies.copy_rule(row.rule)
    else:
        state_copies.copy_value(row.value_hash)
    return sample_privacy.refresh_found(_list_holders(row), _name_subject(row), progress)


def _name_subject(row):
    """The columns of the findings that a verdict may concern."""
    return {"rule": row.rule} if row.scope == RULE else {"value_hash": row.value_hash}


def _list_holders(row):
    return state_copies.list_holders(**({} if row.scope == RULE else {"value_hash": row.value_hash}))


def _describe(count):
    return _("Samples searched: %(count)s.") % {"count": f"{count:,}"}


COPY_JOB = Kind(
    run=run_copy,
    label=gettext_lazy("Apply a verdict on findings"),
    audit_text=gettext_lazy("started to apply a verdict on findings"),
    cancel_text=gettext_lazy("Exports follow the verdict; states of some places and samples may not show it yet."),
    describe_result=lambda result: str(result["message"]),
)
CHECK_JOB = Kind(
    run=run_check,
    label=gettext_lazy("Search samples for personal data"),
    audit_text=gettext_lazy("started to search samples for personal data"),
    cancel_text=gettext_lazy("Samples already searched keep what was found; the next run begins again."),
    describe_result=lambda result: str(result["message"]),
    schedule=Schedule("schedule.findingsScanMinutes", MINUTE_MS, dict, is_check_needed),
)
