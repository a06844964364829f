"""Problems of imports: failed ones, rejected or unknown records, and a stopped watcher."""

from collections.abc import Iterable

from django.conf import settings
from django.utils.translation import gettext_lazy

from agents.claims import find_root
from agents.layout import openclaw_version
from agents.models import CollectorSource
from jobs.kinds import BY_SCHEDULE
from jobs.models import JobRun
from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from overview.models import AgentSummary
from problems.kinds import BY_COUNT, Facts, Finding, Kind, Link

from . import watcher_state

RUNS = 50  # the newest imports
State = JobRun.State
FAILED = (State.FAILED, State.REFUSED)
NEWER = gettext_lazy(
    "OpenClaw %(version)s, which wrote %(folder)s, is newer than the newest version this site was checked with "
    "(%(checked)s). New kinds of records may be missing."
)
NOT_KNOWN = ngettext_lazy(
    "%(count)s record of %(agent)s is from an OpenClaw version that is not known here.",
    "%(count)s records of %(agent)s are from an OpenClaw version that is not known here.",
    BY_COUNT,
)


def check_failed() -> Iterable[Finding]:
    """The folders whose last import failed, started by people or by the watcher.

    A refused import of a folder that was never read is no problem, and one that the schedule starts is listed with the
    automatic tasks.
    """
    # The folders that were read, with the time of their last successful import.
    claims = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT).values_list("root", "agent_id")
    collected = dict(AgentSummary.objects.values_list("agent_id", "last_collected_at"))
    imported_at: dict[str, int] = {}
    for root, agent_id in claims:
        imported_at[root] = max(imported_at.get(root, 0), collected.get(agent_id) or 0)
    refusals = watcher_state.read_refusals()
    for source, run in _find_last_runs().items():
        is_relevant = run.state == State.FAILED or source in imported_at
        is_over = (run.finished_at or 0) < imported_at.get(source, 0) <= clock.now_ms()  # by the watcher
        if run.state in FAILED and run.started_by != BY_SCHEDULE and is_relevant and not is_over:
            refusals.pop(source, None)
            facts = {"source": source, "job": run.id, "message": run.message}
            yield Finding(source, facts, since=run.finished_at)
    for source, refusal in refusals.items():
        if source in imported_at:
            yield Finding(source, {"source": source, "message": refusal.message}, since=refusal.since)


def _find_last_runs():
    """The last finished import of each folder; none while one is active."""
    runs = JobRun.objects.filter(kind="collect", created_at__lte=clock.now_ms()).defer("log", "result_json")
    newest = sorted(runs.order_by("-created_at", "-id")[:RUNS], key=lambda run: -(run.finished_at or clock.now_ms()))
    sources = [str(run.params.get("source") or settings.STATE_DIR) for run in newest]
    roots = {source: _find_root(source) for source in set(sources)}
    last: dict[str, JobRun] = {}
    for source, run in zip(sources, newest, strict=True):
        last.setdefault(roots[source], run)
    return {source: run for source, run in last.items() if run.has_ended}


def _find_root(source):
    """The folder by the path in its rows; unchanged when it is not a path."""
    try:
        return str(find_root(source))
    except (OSError, RuntimeError, ValueError):  # a loop of links, an unknown user, a NUL
        return source


def link_failed(facts: Facts) -> Link:
    """The failed job, or the doctor for an import of the watcher."""
    if "job" in facts:
        return Link(gettext_lazy("View job"), "jobs:job_detail", (facts["job"],))
    return Link(gettext_lazy("Check"), "operations:doctor")


def check_rejected() -> Iterable[Finding]:
    """Agents with rejected records."""
    yield from _find_agents("rejected_count")


def check_unknown() -> Iterable[Finding]:
    """Folders of an OpenClaw newer than the checked version, and agents with unknown records."""
    for home in openclaw_version.find_newer_homes():
        facts = {"folder": home.root, "version": home.version, "checked": openclaw_version.NEWEST_CHECKED}
        year, month, release = home.release
        yield Finding(home.root, facts, level=(year * 100 + month) * 10_000 + release, since=home.since)
    yield from _find_agents("unknown_envelope_count")


def _find_agents(column):
    rows = AgentSummary.objects.filter(**{f"{column}__gt": 0}).order_by(f"-{column}", "agent_id")
    for agent_id, count in rows.values_list("agent_id", column):
        yield Finding(facts={"count": count}, agent_id=agent_id, level=count)


def check_watcher() -> Iterable[Finding]:
    """Find out whether a watcher ended here without being stopped."""
    lost_at = watcher_state.find_lost_time()
    if lost_at is not None:
        yield Finding(since=lost_at)


def _rejected_link(facts: Facts) -> Link:
    return Link(gettext_lazy("View records"), "collecting:rejected_list", query={"agent": facts["agent"]})


def link_unknown(facts: Facts) -> Link:
    """The doctor, or the records."""
    return Link(gettext_lazy("Check"), "operations:doctor") if "version" in facts else _rejected_link(facts)


IMPORT_FAILED = Kind(
    label=gettext_lazy("Import failed"),
    severity=90,
    describe=gettext_lazy("The last import of %(source)s failed: %(message)s"),
    link=link_failed,
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
    describe=lambda facts: NEWER if "version" in facts else NOT_KNOWN,
    link=link_unknown,
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
