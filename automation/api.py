"""API of scheduled jobs, their runs, and runs of sub-agents."""

from django.http import Http404
from django.utils.translation import gettext as _
from ninja import Query

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import BIGGEST, Page, PageQuery, page_to_json

from . import schedules, spawn_tree, subagent_runs
from .models import CronJob
from .schemas import CronJobDetail, CronJobOut, CronRunOut, SubagentQuery, SubagentRunOut

router = Operations("operations_schedules_api", tags=["schedules"])


@router.get("/agents/{agent}/cron", Page[CronJobOut], 404, 409)
@agent_view_for("viewer")
def cron_list(request, agent, filters: Query[PageQuery]):
    """Scheduled tasks of an agent by name, with the results of their last runs."""
    page = schedules.read_page(CronJob.objects.filter(agent_id=agent.agent_id), **filters.place)
    return page_to_json(page)


@router.get("/agents/{agent}/cron/{job_id}", CronJobDetail, 404)
@agent_view_for("viewer")
def cron_detail(request, agent, job_id: str):
    """A scheduled task with its definition."""
    job = schedules.find_job(agent, job_id)
    if job is None:
        raise Http404(_("There is no scheduled task %(name)s.") % {"name": job_id})
    job.words = schedules.parse_definition(job).words
    job.numbers = schedules.read_statistics(schedules.find_runs(agent, job_id))
    return job


@router.get("/agents/{agent}/cron/{job_id}/runs", Page[CronRunOut], 404, 409)
@agent_view_for("viewer")
def cron_runs(request, agent, job_id: str, filters: Query[PageQuery]):
    """The runs of a task, newest first; also of a task that is no longer defined."""
    page = schedules.read_run_page(schedules.find_runs(agent, job_id), **filters.place)
    if not page and not filters.after and not filters.before and schedules.find_job(agent, job_id) is None:
        raise Http404(_("There is no scheduled task %(name)s.") % {"name": job_id})
    return page_to_json(page)


@router.get("/agents/{agent}/subagents", Page[SubagentRunOut], 404, 409, 503)
@agent_view_for("viewer")
def subagent_list(request, agent, filters: Query[SubagentQuery]):
    """Sub-agent runs of an agent's sessions, newest first; with `session`, runs it started and its own."""
    page = subagent_runs.read_page(agent, session=filters.session, **filters.place)
    return page_to_json(page)


@router.get("/agents/{agent}/sessions/{session_id}/tree", spawn_tree.Tree, 404, 503)
@agent_view_for("viewer")
def session_tree(request, agent, session_id: str, turn: int | None = Query(None, ge=0, lt=BIGGEST)):
    """The work that a session or one turn of it started: sub-agents, runs, messages and tasks, with their cost."""
    return spawn_tree.read_tree(agent, session_id, turn)
