"""Problems that several others follow from: OpenClaw stopped, its model is down, or the model of this site is."""

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import Max
from django.utils.translation import gettext_lazy

from agents.models import CollectorSource
from agents.runners.runner import read_configured_model
from automation import problems as tasks
from automation.models import CronRunLog
from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from problems.kinds import BY_COUNT, Facts, Finding, Kind, Link, is_any
from problems.models import Problem
from problems.words import MORE

from .models import AgentSummary

SEVERAL = 2  # problems from which on they have one cause
OWN_CALLS = {"gate_calls": lambda facts: bool(facts["in_a_row"]), "guardian_calls": is_any}
OWN_TASKS = ("gate_new_turns", "guardian_new_facts")


def check_stopped() -> Iterable[Finding]:
    """Find the homes in which several tasks were due, and nothing at all has happened since.

    A task that was overdue before the last sign of life has another cause.
    """
    now = clock.now_ms()
    for root, (agents, jobs) in _group_by_home(job for job, _known_at in tasks.find_overdue()).items():
        sessions = AgentSummary.objects.filter(agent_id__in=agents, last_activity_at__lte=now)
        runs = CronRunLog.objects.filter(agent_id__in=agents, ts__lte=now)
        signs = [sessions.aggregate(at=Max("last_activity_at"))["at"], runs.aggregate(at=Max("ts"))["at"]]
        missed = [job for job in jobs if job["next_run_at"] > max(at or 0 for at in signs)]
        if len(missed) >= SEVERAL:
            yield _build_finding(root, missed, min(job["next_run_at"] for job in missed))


def check_model() -> Iterable[Finding]:
    """Find the homes in which the newest runs of several tasks failed because of the model."""
    failed = (job for job, _at in tasks.find_failing() if tasks.is_of_model(job))
    for root, (_agents, jobs) in _group_by_home(failed).items():
        if len(jobs) >= SEVERAL:
            yield _build_finding(root, jobs, min(job["ran_at"] for job in jobs))


def check_own_model() -> Iterable[Finding]:
    """Find out whether the model of this site failed for several agents, or for both of its uses."""
    rows = Problem.objects.filter(kind__in=OWN_CALLS, state=Problem.State.OPEN)
    failing = [row for row in rows if MORE not in row.detail and OWN_CALLS[row.kind](row.detail)]
    if len(failing) >= SEVERAL:
        model, _values = read_configured_model()
        facts = {"model": model.model or "–", "host": model.endpoint.host or "–", "count": len(failing)}
        yield Finding(facts=facts, level=len(failing), since=min(row.since_at for row in failing))


def _group_by_home(jobs: Iterable[dict]) -> dict[str, tuple[list[str], list[dict]]]:
    """Return tasks by the folder that they are from, with all agents of that folder."""
    claims = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT)
    roots = dict(claims.values_list("agent_id", "root"))
    by_root = defaultdict(list)
    for job in jobs:
        by_root[roots.get(job["agent_id"], "")].append(job)
    return {root: ([name for name in roots if roots[name] == root], by_root[root]) for root in by_root if root}


def _build_finding(root, jobs, since):
    facts = {"folder": root, "count": len(jobs), "agents": sorted({job["agent_id"] for job in jobs})}
    return Finding(root, facts, level=len(jobs), since=since)


def _link_tasks(facts: Facts) -> Link:
    return Link(
        gettext_lazy("View tasks"), "automation:cron_list", facts["agents"] if len(facts["agents"]) == 1 else ()
    )


STOPPED = Kind(
    label=gettext_lazy("OpenClaw stopped"),
    severity=84,
    describe=ngettext_lazy(
        "OpenClaw in %(folder)s seems to have stopped: %(count)s scheduled task was due, and nothing has happened "
        "since. Start OpenClaw.",
        "OpenClaw in %(folder)s seems to have stopped: %(count)s scheduled tasks were due, and nothing has happened "
        "since. Start OpenClaw.",
        BY_COUNT,
    ),
    link=_link_tasks,
    role="viewer",
    check=check_stopped,
    causes={"task_overdue": is_any},
)
MODEL_DOWN = Kind(
    label=gettext_lazy("OpenClaw's model does not answer"),
    severity=76,
    describe=ngettext_lazy(
        "The model of OpenClaw in %(folder)s does not answer: the last run of %(count)s scheduled task failed.",
        "The model of OpenClaw in %(folder)s does not answer: the last runs of %(count)s scheduled tasks failed.",
        BY_COUNT,
    ),
    link=_link_tasks,
    role="viewer",
    check=check_model,
    causes={"task_failing": lambda facts: facts["is_of_model"]},
)
OWN_MODEL_DOWN = Kind(
    label=gettext_lazy("This site's model does not answer"),
    severity=83,
    describe=gettext_lazy("The model %(model)s at %(host)s does not answer. Check its endpoint."),
    link=lambda _facts: Link(gettext_lazy("View jobs"), "jobs:job_list"),
    role="viewer",
    check=check_own_model,
    causes=OWN_CALLS | {"task_failed": lambda facts: facts["kind"] in OWN_TASKS},
)
