"""Pages of scheduled jobs, and of the sub-agents that sessions start."""

from django.http import Http404
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from ledger.session.session_forms import PlaceForm
from openclaw_web.lists.paging import read_cursors
from openclaw_web.pages.html import render_page
from problems.words import open_rows

from . import prompt_lint, schedule_charts, schedules, subagent_runs
from .models import CronJob


@require_safe
@agent_view_for("viewer", of_all=True)
def cron_list(request, agent):
    """List the jobs of an agent, or of all; with `?overdue=on` those that problems report as overdue.

    With `?session=`, an id or a key, lead to the job of the agent that started that session.
    """
    is_all, is_overdue = agent is None, request.GET.get("overdue") == "on"
    session = "" if is_all else request.GET.get("session", "")
    job_id = schedules.find_session_job(agent, session) if session else None
    if job_id:
        return redirect("automation:cron_detail", agent.agent_id, job_id)
    context = {"session": session[: schedules.LONGEST_NAME], "is_overdue": is_overdue, "is_all": is_all, "jobs": []}
    context |= {} if is_all else {"agent": agent}
    if not session:
        jobs = CronJob.objects.all() if is_all else CronJob.objects.filter(agent_id=agent.agent_id)
        jobs = jobs.filter(id__in=open_rows().filter(kind="task_overdue").values("subject")) if is_overdue else jobs
        context["jobs"] = schedules.read_page(jobs, **read_cursors(request))
        for job in context["jobs"]:
            job.bars = schedule_charts.build_small_bars(job.numbers)
    return render_page(request, "automation/cron_list.html", context, status=404 if session else 200)


@require_safe
@agent_view_for("viewer")
def cron_detail(request, agent, job_id):
    """Show one job: its task, its results and its runs."""
    job = schedules.find_job(agent, job_id)
    runs = schedules.find_runs(agent, job_id)
    numbers = schedules.read_statistics(runs)
    if job is None and not numbers.runs:
        raise Http404
    page = schedules.read_run_page(runs, **read_cursors(request))
    charted_runs = numbers.runs[: schedule_charts.MAX_BARS]
    addresses = schedules.find_session_addresses(agent, [run.session_id for run in (*page, *charted_runs)])
    context = {
        "agent": agent,
        "job_id": job_id,
        "job": job,
        "definition": schedules.parse_definition(job) if job else None,
        "hits": [finding.hit for finding in prompt_lint.lint_job(job)] if job else [],
        "numbers": numbers,
        "counted_up_to": schedules.COUNTED_UP_TO,
        "chart": schedule_charts.build_chart(numbers, addresses),
        "runs": page,
        "addresses": addresses,
    }
    return render_page(request, "automation/cron_detail.html", context)


@require_safe
@agent_view_for("viewer")
def subagent_list(request, agent):
    """List the sub-agent runs of an agent, or those on either side of one session."""
    session = request.GET.get("session", "")[: schedules.LONGEST_NAME]
    context = {
        "agent": agent,
        "session": session,
        "runs": subagent_runs.read_page(agent, session=session, **read_cursors(request)),
    }
    return render_page(request, "automation/subagent_list.html", context)


@require_safe
@agent_view_for("viewer")
def session_tree(request, agent, session_id):
    """Show what a session started; with `?turn=`, what one turn of it started."""
    from . import spawn_tree  # with the schemas of the API, which a site at rest does without

    tree = spawn_tree.read_tree(agent, session_id, PlaceForm(request.GET).read_place()["turn"])
    context = {"agent": agent, "session_id": session_id, "tree": tree}
    return render_page(request, "automation/session_tree.html", context, partial="tree_part")
