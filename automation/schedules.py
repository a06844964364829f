"""Scheduled jobs and the results of their runs, as pages and the API read them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any
from urllib.parse import quote

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.urls import reverse

from agents.models import Agent
from ledger.models import Session
from ledger.words import CHANNEL_WORDS
from openclaw_web.lists.paging import Page, page_of

from . import schedule_words
from .models import CronJob, CronRunLog

RECENT = 100  # runs that the numbers of a job speak of
COUNTED_UP_TO = 1_000
ORDER = ("-ts", "-seq")
JOBS_ORDER = ("name", "id")
SUCCEEDED, FAILED, SKIPPED = "succeeded", "failed", "skipped"
OUTCOMES = {
    **dict.fromkeys(("ok", "success", "succeeded", "completed", "finished"), SUCCEEDED),
    **dict.fromkeys(("error", "failed", "failure", "timeout", "timed_out", "aborted"), FAILED),
    "skipped": SKIPPED,
}
KEY = re.compile(r"agent:[^:]*:cron:(?P<job>.+?)(?::run:(?P<session>.+))?", re.DOTALL)
BUDGET_CHARACTERS = 500_000  # of errors and summaries on one page
LONGEST_NAME = 1_000


@dataclass(frozen=True, slots=True)
class Run:
    """One run in numbers.

    `outcome` is succeeded, failed, skipped, or "" for an unknown status.
    """

    ts: int
    outcome: str
    duration_ms: int | None
    session_id: str | None


@dataclass(slots=True)
class RunStatistics:
    """Results of a job: its newest RECENT runs, the newest first.

    `run_count` is how many runs there are in all, up to a bound.
    """

    runs: list[Run] = field(default_factory=list)
    run_count: int = 0

    @property
    def has_more(self) -> bool:
        """Whether there are more runs than were counted."""
        return self.run_count > COUNTED_UP_TO

    @property
    def success_percent(self) -> int | None:
        """The share of successes in the recent runs that succeeded or failed.

        Skipped runs do not count. It is rounded down: 100 means all.
        """
        ended = self.count(SUCCEEDED) + self.count(FAILED)
        return self.count(SUCCEEDED) * 100 // ended if ended else None

    @property
    def median_ms(self) -> int | None:
        return round(median(durations)) if (durations := self._durations()) else None

    @property
    def average_ms(self) -> int | None:
        return round(fmean(durations)) if (durations := self._durations()) else None

    @property
    def longest_ms(self) -> int | None:
        return max(self._durations(), default=None)

    @property
    def last(self) -> Run | None:
        return self.runs[0] if self.runs else None

    def count(self, outcome: str) -> int:
        """Return how many of the recent runs had this outcome."""
        return sum(run.outcome == outcome for run in self.runs)

    def _durations(self):
        return [run.duration_ms for run in self.runs if run.duration_ms is not None and run.outcome != SKIPPED]


@dataclass(frozen=True, slots=True)
class Definition:
    """The task of a job, from the JSON of its definition.

    A field is empty where the JSON has no value.
    """

    words: str
    written: str
    description: str = ""
    target: str = ""
    wake: str = ""
    model: str = ""
    timeout_seconds: str = ""
    delivery: str = ""


def read_page(jobs: QuerySet[CronJob], **place: Any) -> Page:
    """Return a page of jobs by name, with `words` and `numbers`.

    `words` say when a job runs. `place`: see page_of.
    """
    runs = CronRunLog.objects.filter(job_id=OuterRef("id")).order_by(*ORDER).values("ts")
    jobs = jobs.exclude(id="").annotate(
        recent_from=Subquery(runs[RECENT - 1 : RECENT]),
        counted_from=Subquery(runs[COUNTED_UP_TO : COUNTED_UP_TO + 1]),
    )
    page = page_of(jobs.defer("prompt", "job_json"), order=JOBS_ORDER, **place)
    recent = _read_recent_runs(page)
    runs = CronRunLog.objects.filter(_build_since_condition(page, "counted_from")).order_by().values_list("job_id")
    counts = dict(runs.annotate(count=Count("seq"))) if page else {}
    for job in page:
        job.words = schedule_words.in_words(job.schedule)
        job.numbers = RunStatistics(recent[job.id][:RECENT], counts.get(job.id, 0))
    return page


def find_job(agent: Agent, job_id: str) -> CronJob | None:
    """Return an agent's job by its id, else None."""
    return CronJob.objects.filter(agent_id=agent.agent_id, id=job_id).first()


def find_runs(agent: Agent, job_id: str):
    """Return the runs of a job without their raw lines.

    A job that is no longer defined still has runs.
    """
    return CronRunLog.objects.filter(agent_id=agent.agent_id, job_id=job_id).defer("entry_json")


def read_run_page(runs, **place: Any) -> Page:
    """Return a page of runs, the newest first; long texts end it early."""
    return page_of(
        runs, order=ORDER, **place, budget=BUDGET_CHARACTERS, weigh=lambda run: len(run.error) + len(run.summary)
    )


def read_statistics(runs) -> RunStatistics:
    """Return the results of the runs of one job."""
    columns = runs.order_by(*ORDER).values_list("ts", "status", "duration_ms", "session_id")
    return RunStatistics(
        list(map(_build_run, columns[:RECENT])), runs.order_by().values("ts")[: COUNTED_UP_TO + 1].count()
    )


def get_outcome(status: str) -> str:
    """Return the outcome of a status; empty for an unknown one."""
    return OUTCOMES.get(status.lower(), "")


def parse_definition(job: CronJob) -> Definition:
    """Return the task of a job."""
    schedule, raw = job.schedule, job.definition
    payload, delivery = (part if isinstance(part, dict) else {} for part in (raw.get("payload"), raw.get("delivery")))
    format_value = schedule_words.format_value
    sent = [format_value("delivery", _text(delivery, "mode")), _format_channel(delivery), _text(delivery, "to")]
    return Definition(
        words=schedule_words.in_words(schedule),
        written=schedule_words.format_as_written(schedule),
        description=_text(raw, "description"),
        target=format_value("target", _text(raw, "sessionTarget")),
        wake=format_value("wake", _text(raw, "wakeMode")),
        model=_text(payload, "model"),
        timeout_seconds=_text(payload, "timeoutSeconds"),
        delivery=" · ".join(filter(None, sent)),
    )


def find_session_job(agent: Agent, session: str) -> str | None:
    """Return the id of the job that started a session, else None.

    The session is named by its id or its key.
    """
    if not session or len(session) > LONGEST_NAME:
        return None
    known = Session.objects.using(agent.db).filter(id=session).values_list("session_key", flat=True).first()
    for key in (session, known or ""):
        if match := KEY.fullmatch(key):
            if find_job(agent, match["job"]) or find_runs(agent, match["job"]).exists():
                return match["job"]
            session = match["session"] or session
    by_run = CronRunLog.objects.filter(agent_id=agent.agent_id, session_id=session)
    return by_run.values_list("job_id", flat=True).first()


def find_session_addresses(agent: Agent, session_ids: Iterable[str | None]) -> dict[str, str]:
    """Return the addresses of the sessions that are in the store, by id."""
    ids = {session_id for session_id in session_ids if session_id}
    known = Session.objects.using(agent.db).filter(id__in=ids).values_list("id", flat=True)
    return {session_id: build_session_address(agent, session_id) for session_id in known}


def build_session_address(agent: Agent, session_id: str) -> str:
    """Return the address of a session, whatever its id is."""
    return f"{reverse('ledger:session_list', args=[agent.agent_id])}{quote(session_id, safe='')}/"


def _read_recent_runs(jobs: Sequence[CronJob]):
    """Read the newest runs of each job, in one query.

    The moment from which on they are recent is known.
    """
    by_job: dict[str, list[Run]] = {job.id: [] for job in jobs}
    columns = ("job_id", "ts", "status", "duration_ms", "session_id")
    runs = CronRunLog.objects.filter(_build_since_condition(jobs, "recent_from")).order_by(*ORDER).values_list(*columns)
    for job_id, *run in runs if jobs else ():
        by_job[job_id].append(_build_run(run))
    return by_job


def _build_since_condition(jobs, moment):
    condition = Q()
    for job in jobs:
        since = getattr(job, moment)
        condition |= Q(job_id=job.id) if since is None else Q(job_id=job.id, ts__gte=since)
    return condition


def _build_run(columns):
    ts, status, duration_ms, session_id = columns
    return Run(ts, get_outcome(status), duration_ms, session_id)


def _format_channel(delivery):
    channel = _text(delivery, "channel")
    return str(CHANNEL_WORDS.get(channel, channel))


def _text(entry, name):
    value = entry.get(name)
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
