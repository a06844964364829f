"""Scheduled jobs and how their runs went, as pages and the API read them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any
from urllib.parse import quote

from django.db.models import Count, OuterRef, Q, Subquery
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
    """One run in numbers; `outcome` is succeeded, failed, skipped, or "" for a status nobody knows."""

    ts: int
    outcome: str
    duration_ms: int | None
    session_id: str | None


@dataclass(slots=True)
class RunStatistics:
    """How a job went: its newest RECENT runs, the newest first, and how many there are in all (up to a bound)."""

    runs: list[Run] = field(default_factory=list)
    run_count: int = 0

    @property
    def has_more(self) -> bool:
        """Whether there are more runs than were counted."""
        return self.run_count > COUNTED_UP_TO

    @property
    def success_percent(self) -> int | None:
        """Of the recent runs that succeeded or failed; skipped ones are neither. Rounded down: 100 means all."""
        ended = self.count(SUCCEEDED) + self.count(FAILED)
        return self.count(SUCCEEDED) * 100 // ended if ended else None

    @property
    def median_ms(self) -> int | None:
        return round(median(found)) if (found := self._durations()) else None

    @property
    def average_ms(self) -> int | None:
        return round(fmean(found)) if (found := self._durations()) else None

    @property
    def longest_ms(self) -> int | None:
        return max(self._durations(), default=None)

    @property
    def last(self) -> Run | None:
        return self.runs[0] if self.runs else None

    def count(self, outcome: str) -> int:
        """How many of the recent runs ended so."""
        return sum(run.outcome == outcome for run in self.runs)

    def _durations(self):
        return [run.duration_ms for run in self.runs if run.duration_ms is not None and run.outcome != SKIPPED]


@dataclass(frozen=True, slots=True)
class Definition:
    """What a job is to do, from the JSON it was found as; empty where that says nothing."""

    words: str
    written: str
    description: str = ""
    target: str = ""
    wake: str = ""
    model: str = ""
    timeout_seconds: str = ""
    delivery: str = ""


def read_page(agent: Agent, **place: Any) -> Page:
    """An agent's jobs by name, each with `words`, when it runs, and `numbers`. `place`: see page_of."""
    runs = CronRunLog.objects.filter(job_id=OuterRef("id")).order_by(*ORDER).values("ts")
    jobs = (
        CronJob.objects.filter(agent_id=agent.agent_id)
        .exclude(id="")
        .annotate(
            recent_from=Subquery(runs[RECENT - 1 : RECENT]),
            counted_from=Subquery(runs[COUNTED_UP_TO : COUNTED_UP_TO + 1]),
        )
    )
    found = page_of(jobs.defer("prompt", "job_json"), order=JOBS_ORDER, **place)
    recent = _recent(found)
    counts = _counts(found)
    for job in found:
        job.words = schedule_words.in_words(job.schedule)
        job.numbers = RunStatistics(recent[job.id][:RECENT], counts.get(job.id, 0))
    return found


def find_job(agent: Agent, job_id: str) -> CronJob | None:
    """An agent's job by its id."""
    return CronJob.objects.filter(agent_id=agent.agent_id, id=job_id).first()


def find_runs(agent: Agent, job_id: str):
    """The runs of a job without their raw lines; a job that is no longer defined still has runs."""
    return CronRunLog.objects.filter(agent_id=agent.agent_id, job_id=job_id).defer("entry_json")


def read_run_page(runs, **place: Any) -> Page:
    """A page of runs, the newest first; it ends early when their texts come to too much."""
    return page_of(runs, order=ORDER, **place, budget=BUDGET_CHARACTERS, weigh=_weight)


def read_statistics(runs) -> RunStatistics:
    """How the runs of one job went."""
    columns = runs.order_by(*ORDER).values_list("ts", "status", "duration_ms", "session_id")
    return RunStatistics(list(map(_run, columns[:RECENT])), runs.order_by().values("ts")[: COUNTED_UP_TO + 1].count())


def get_outcome(status: str) -> str:
    """What a status comes to."""
    return OUTCOMES.get(status.lower(), "")


def parse_definition(job: CronJob) -> Definition:
    """What a job is to do."""
    schedule, raw = job.schedule, job.definition
    payload, delivery = (part if isinstance(part, dict) else {} for part in (raw.get("payload"), raw.get("delivery")))
    said = schedule_words.format_value
    sent = [said("delivery", _text(delivery, "mode")), _channel(delivery), _text(delivery, "to")]
    return Definition(
        words=schedule_words.in_words(schedule),
        written=schedule_words.format_as_written(schedule),
        description=_text(raw, "description"),
        target=said("target", _text(raw, "sessionTarget")),
        wake=said("wake", _text(raw, "wakeMode")),
        model=_text(payload, "model"),
        timeout_seconds=_text(payload, "timeoutSeconds"),
        delivery=" · ".join(filter(None, sent)),
    )


def find_session_job(agent: Agent, asked: str) -> str | None:
    """The id of the job that started a session, which is named by its id or its key."""
    if not asked or len(asked) > LONGEST_NAME:
        return None
    known = Session.objects.using(agent.db).filter(id=asked).values_list("session_key", flat=True).first()
    for key in (asked, known or ""):
        if match := KEY.fullmatch(key):
            if find_job(agent, match["job"]) or find_runs(agent, match["job"]).exists():
                return match["job"]
            asked = match["session"] or asked
    by_run = CronRunLog.objects.filter(agent_id=agent.agent_id, session_id=asked)
    return by_run.values_list("job_id", flat=True).first()


def find_session_addresses(agent: Agent, session_ids: Iterable[str | None]) -> dict[str, str]:
    """Where the sessions are that are in the store."""
    asked = {session_id for session_id in session_ids if session_id}
    known = Session.objects.using(agent.db).filter(id__in=asked).values_list("id", flat=True)
    return {session_id: build_session_address(agent, session_id) for session_id in known}


def build_session_address(agent: Agent, session_id: str) -> str:
    """Where a session is read, whatever its id is."""
    return f"{reverse('ledger:session_list', args=[agent.agent_id])}{quote(session_id, safe='')}/"


def _recent(jobs: Sequence[CronJob]):
    """The newest runs of each job, in one query: the moment from which on they are recent is known."""
    found: dict[str, list[Run]] = {job.id: [] for job in jobs}
    columns = ("job_id", "ts", "status", "duration_ms", "session_id")
    runs = CronRunLog.objects.filter(_since(jobs, "recent_from")).order_by(*ORDER).values_list(*columns)
    for job_id, *run in runs if jobs else ():
        found[job_id].append(_run(run))
    return found


def _counts(jobs):
    runs = CronRunLog.objects.filter(_since(jobs, "counted_from")).order_by().values_list("job_id")
    return dict(runs.annotate(count=Count("seq"))) if jobs else {}


def _since(jobs, moment):
    wanted = Q()
    for job in jobs:
        since = getattr(job, moment)
        wanted |= Q(job_id=job.id) if since is None else Q(job_id=job.id, ts__gte=since)
    return wanted


def _run(columns):
    ts, status, duration_ms, session_id = columns
    return Run(ts, get_outcome(status), duration_ms, session_id)


def _weight(run):
    return len(run.error) + len(run.summary)


def _channel(delivery):
    channel = _text(delivery, "channel")
    return str(CHANNEL_WORDS.get(channel, channel))


def _text(entry, name):
    value = entry.get(name)
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
