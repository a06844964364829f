"""Status of replays for pages and the API.

The state of a running replay depends on its job.
"""

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
    """A replay with its job and its state.

    `job` is None where there is none, or where it was removed.
    """

    replay: GateReplay
    job: JobRun | None

    @property
    def state(self) -> str:
        """Return the state of the row, or of the job while it has not ended.

        A replay whose job was removed has stopped.
        """
        if self.replay.state != State.RUNNING:
            return str(self.replay.state)
        return str(State.STOPPED) if self.job is None or self.job.has_ended else self.job.state

    @property
    def is_under_way(self) -> bool:
        """Return whether the job is queued or running."""
        return self.replay.state == State.RUNNING and self.job is not None and not self.job.has_ended

    @property
    def agreement(self) -> float | None:
        """Return the share of decisions that did not change; None while none was replayed."""
        return self.replay.agreed / self.replay.decided if self.replay.decided else None


def read_replay_page(agent: Agent, *, size: int = 50, after: str | None = None, before: str | None = None) -> Page:
    """Return a page of an agent's replays, the newest first."""
    return page_of(GateReplay.objects.using(agent.db), order=ORDER, size=size, after=after, before=before)


def read_statuses(replays: Sequence[GateReplay]) -> list[ReplayStatus]:
    """Return the status of each replay."""
    jobs = JobRun.objects.defer("log", "result_json").in_bulk([replay.job_id for replay in replays if replay.job_id])
    return [ReplayStatus(replay, jobs.get(replay.job_id or "")) for replay in replays]
