"""Problems of ledgers: the last verification found that one was changed."""

from collections.abc import Iterable

from django.utils.translation import gettext_lazy

from jobs.models import JobRun
from openclaw_web.amounts import ngettext_lazy
from problems.kinds import BY_COUNT, Finding, Kind, Link

JOB = "episodes_verify"
NEWEST = 200  # verifications that are read


def check_ledgers() -> Iterable[Finding]:
    """Yield the agents whose last verification found a change."""
    rows = JobRun.objects.filter(kind=JOB, state=JobRun.State.FINISHED).order_by("-created_at", "-id")
    checked: set[str] = set()
    for job in rows.defer("log")[:NEWEST]:
        agent_id = job.params.get("agent", "")
        if agent_id not in checked and job.result.get("unchanged") is False:
            faults = job.result.get("fault_count", 0)
            heads = sum(not entry["unchanged"] for entry in job.result.get("heads", []))
            facts = {"job": job.id, "count": faults + heads}
            yield Finding(agent_id, facts, agent_id=agent_id, level=faults + heads, since=job.finished_at)
        checked.add(agent_id)


LEDGER_CHANGED = Kind(
    label=gettext_lazy("Changed ledger"),
    severity=89,
    describe=ngettext_lazy(
        "The ledger of %(agent)s was changed: verification found %(count)s fault or head that differs.",
        "The ledger of %(agent)s was changed: verification found %(count)s faults or heads that differ.",
        BY_COUNT,
    ),
    link=lambda facts: Link(gettext_lazy("View job"), "jobs:job_detail", (facts["job"],)),
    role="viewer",
    check=check_ledgers,
    seen_by="operator",
)
