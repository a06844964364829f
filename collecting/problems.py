"""Problems of imports: one that failed, records that were rejected or not understood, a watcher that ended."""

from collections.abc import Iterable

import orjson
from django.conf import settings
from django.utils.translation import gettext_lazy, ngettext_lazy

from agents.models import CollectorSource
from jobs.kinds import BY_ITSELF
from jobs.models import JobRun
from openclaw_web import clock
from overview.models import AgentSummary
from problems.kinds import BY_COUNT, Facts, Finding, Kind, Link

from . import watcher

RUNS = 50  # the newest imports
State = JobRun.State
FAILED = (State.FAILED, State.REFUSED)


def check_failed() -> Iterable[Finding]:
    """The folders whose last import failed: those that people start, and those of the watcher.

    A refused import of a folder that was never read is nobody's problem, and one that the schedule starts is told with
    the other automatic tasks.
    """
    roots = set(CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT).values_list("root", flat=True))
    for source, run in _last_runs().items():
        is_told = run.state == State.FAILED or source in roots
        if run.state in FAILED and run.started_by != BY_ITSELF and is_told:
            facts = {"source": source, "job": run.id, "message": run.message}
            yield Finding(source, facts, since=run.finished_at)


def _last_runs():
    """Of each folder the import that ended last; none while one is under way."""
    runs = JobRun.objects.filter(kind="collect", created_at__lte=clock.now_ms()).defer("log", "result_json")
    newest = sorted(runs.order_by("-created_at", "-id")[:RUNS], key=lambda run: -(run.finished_at or clock.now_ms()))
    found: dict[str, JobRun] = {}
    for run in newest:
        found.setdefault(str(orjson.loads(run.params_json).get("source") or settings.STATE_DIR), run)
    return {source: run for source, run in found.items() if run.has_ended}


def check_rejected() -> Iterable[Finding]:
    """Agents with records that were rejected."""
    yield from _of_agents("rejected_count")


def check_unknown() -> Iterable[Finding]:
    """Agents with records of a kind that is not known: an OpenClaw that is newer, or another one."""
    yield from _of_agents("unknown_envelope_count")


def _of_agents(column):
    rows = AgentSummary.objects.filter(**{f"{column}__gt": 0}).order_by(f"-{column}", "agent_id")
    for agent_id, count in rows.values_list("agent_id", column):
        yield Finding(facts={"count": count}, agent_id=agent_id, level=count)


def check_watcher() -> Iterable[Finding]:
    """That a watcher was started here, and is gone without having been stopped."""
    lost_at = watcher.lost_at()
    if lost_at is not None:
        yield Finding(since=lost_at)


def _rejected_link(facts: Facts) -> Link:
    return Link(gettext_lazy("View records"), "collecting:rejected_list", query={"agent": facts["agent"]})


IMPORT_FAILED = Kind(
    label=gettext_lazy("Import failed"),
    severity=90,
    describe=gettext_lazy("The last import of %(source)s failed: %(message)s"),
    link=lambda facts: Link(gettext_lazy("View job"), "jobs:job_detail", (facts["job"],)),
    check=check_failed,
    seen_by="operator",
)
REJECTED = Kind(
    label=gettext_lazy("Rejected records"),
    severity=50,
    describe=ngettext_lazy(
        "%(count)s record of %(agent)s was rejected by imports.",
        "%(count)s records of %(agent)s were rejected by imports.",
        BY_COUNT,
    ),
    link=_rejected_link,
    check=check_rejected,
)
UNKNOWN_RECORDS = Kind(
    label=gettext_lazy("Unknown OpenClaw version"),
    severity=49,
    describe=ngettext_lazy(
        "%(count)s record of %(agent)s is from an OpenClaw version that is not known here.",
        "%(count)s records of %(agent)s are from an OpenClaw version that is not known here.",
        BY_COUNT,
    ),
    link=_rejected_link,
    check=check_unknown,
)
WATCHER = Kind(
    label=gettext_lazy("Watcher stopped"),
    severity=85,
    describe=gettext_lazy("The watcher has stopped: changes are not imported. Restart “openclaw-web serve”."),
    link=lambda _facts: Link(gettext_lazy("View jobs"), "jobs:job_list"),
    check=check_watcher,
    seen_by="operator",
)
