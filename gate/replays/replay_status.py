"""Replays as pages and the API show them: with how they stand, which the row alone cannot tell."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.models import Agent
from jobs.models import JobRun
from openclaw_web.lists.paging import Page, page_of

from ..models import GateReplay

ORDER = ("-created_at", "-id")
State = GateReplay.State


@dataclass(frozen=True, slots=True)
class ReplayStatus:
    """A replay, its job (None: it has none, or not any more), and how it stands."""

    replay: GateReplay
    job: JobRun | None

    @property
    def state(self) -> str:
        """The state of its row, or of its job while that has not ended. A job that is gone has stopped."""
        if self.replay.state != State.RUNNING:
            return str(self.replay.state)
        return str(State.STOPPED) if self.job is None or self.job.has_ended else self.job.state

    @property
    def is_under_way(self) -> bool:
        """Whether its job waits or works."""
        return self.replay.state == State.RUNNING and self.job is not None and not self.job.has_ended

    @property
    def agreement(self) -> float | None:
        """The share of decisions that became the same; None while none was made again."""
        return self.replay.agreed / self.replay.decided if self.replay.decided else None


def read_replay_page(agent: Agent, *, size: int = 50, after: str | None = None, before: str | None = None) -> Page:
    """One page of the replays of an agent, the newest first."""
    return page_of(GateReplay.objects.using(agent.db), order=ORDER, size=size, after=after, before=before)


def read_statuses(replays: Sequence[GateReplay]) -> list[ReplayStatus]:
    """How these stand."""
    jobs = JobRun.objects.defer("log", "result_json").in_bulk([one.job_id for one in replays if one.job_id])
    return [ReplayStatus(one, jobs.get(one.job_id or "")) for one in replays]
