"""A new site: the progress of its first import, or how to name a folder."""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db.models import Count, Sum

from agents.layout import places
from agents.models import Agent, CollectedSession
from jobs.models import JobRun
from openclaw_web import clock
from openclaw_web.disk import locks

FIRST_MS = 2 * 3_600_000  # how long a site is new after its first agent
DEMO_PORT = 8766


@dataclass(frozen=True, slots=True)
class FirstImport:
    """The state of a new site.

    `folder` is the folder of OpenClaw, `problem` says why it cannot be read. `percent` is that of the import job, None:
    not known.
    """

    folder: str
    has_folder: bool
    is_importing: bool
    agents: int = 0
    sessions: int = 0
    records: int = 0
    percent: int | None = None
    problem: str = ""

    @property
    def seconds(self) -> int:
        """How long a browser waits until it polls again."""
        return 2 if self.has_folder or self.is_importing else 5

    @property
    def serve_command(self) -> str:
        """A command that starts the site with another folder."""
        return "OPENCLAW_STATE_DIR=DIR openclaw-web serve"

    @property
    def demo_command(self) -> str:
        """A command that shows a demonstration beside this site, in folders of its own."""
        folders = "OPENCLAW_WEB_HOME=~/openclaw-demo/home OPENCLAW_STATE_DIR=~/openclaw-demo/openclaw"
        return f"{folders} openclaw-web demo --port {DEMO_PORT}"


def find_first_import(has_agents: bool) -> FirstImport | None:
    """Return the state of a new site's first import; None once the site is filled."""
    is_importing = locks.is_held(settings.HOME_DIR / "state" / locks.COLLECTING) is True or _is_queued(has_agents)
    if has_agents and not (is_importing and _is_new()):
        return None
    folder = Path(settings.STATE_DIR)
    if not is_importing:
        problem = places.find_access_problem(folder)
        return FirstImport(str(folder), not problem and folder.is_dir(), is_importing=False, problem=problem)
    sessions = CollectedSession.objects.aggregate(count=Count("session_id"), records=Sum("record_count"))
    job = JobRun.objects.filter(kind="collect", state=JobRun.State.RUNNING).order_by("created_at").first()
    return FirstImport(
        str(folder),
        has_folder=True,
        is_importing=True,
        agents=Agent.objects.count(),
        sessions=sessions["count"],
        records=sessions["records"] or 0,
        percent=min(99, 100 * job.done // job.total) if job and job.total else None,
    )


def _is_queued(has_agents):
    if has_agents:
        return False
    return JobRun.objects.filter(kind="collect", state__in=(JobRun.State.QUEUED, JobRun.State.RUNNING)).exists()


def _is_new():
    first = Agent.objects.order_by("created_at").values_list("created_at", flat=True).first()
    return first is None or first > clock.now_ms() - FIRST_MS
