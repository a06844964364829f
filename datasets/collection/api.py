"""API of collecting: strategies, runs with their turns, and other thresholds."""

from typing import Any, Literal

from django.shortcuts import get_object_or_404
from ninja import Query, Status
from pydantic import Field

from jobs.schemas import JobOut
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Page, PageQuery, Schema, page_to_json
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.lists.paging import page_of
from openclaw_web.pages.roles import needs

from ..models import CollectionRun, CollectionStrategy, TurnOutcome
from . import criteria, job, runs, strategies, what_if
from .views import get_outcome

router = Operations("datasets_collection_api", tags=["datasets"])
LONGEST_VALUE = 300


class StrategyOut(table_schema(CollectionStrategy)):
    id: int
    criteria: dict[str, Any] = Field(description="switches and thresholds; groups are named as in the Reflection spec")


class StrategyIn(Body):
    """The next version of a strategy: the one in force with changes."""

    name: str = Field(strategies.DEFAULT, max_length=40)
    changes: dict[str, bool | int | float] = Field(description="switches and thresholds by name", max_length=40)


class CollectionRunOut(table_schema(CollectionRun)):
    id: int
    strategy: str = Field(description="name and version")
    options: dict[str, Any]
    turns: int
    candidates: int = Field(description="turns that can be a sample")
    samples: int = Field(description="new samples; of a preview those that it would create")
    reasons: dict[str, int] = Field(description="the other turns, by the reason why they are none")


class RunIn(Body):
    """A run of collecting."""

    agent: str = Field("", max_length=LONGEST_VALUE)
    session: str = Field("", max_length=LONGEST_VALUE)
    since: int | None = Field(None, description="turns at or after this time, in milliseconds")
    until: int | None = Field(None, description="turns before this time, in milliseconds")
    type: Literal[runs.TYPES] = runs.ALL  # type: ignore[valid-type]
    auto_approve: bool = Field(False, description="approve where the strategy has no doubt")
    strategy: str = Field(strategies.DEFAULT, max_length=40)
    is_dry: bool = Field(False, description="only count: create and change no sample")


class RunStartedOut(Schema):
    run: int
    job: JobOut


class TurnQuery(PageQuery):
    outcome: str = Field(description="a name of `reasons`, `sample` or `candidate`")


class CollectedTurnOut(table_schema(TurnOutcome)):
    outcome: str
    answers: dict[str, str] = Field(description="yes, no or unknown by criterion; empty where none was asked")


class WhatIfIn(Body):
    changes: dict[str, bool | int | float] = Field({}, description="as for a version", max_length=40)


class WhatIfOut(Schema):
    before: dict[str, int] = Field(description="turns by side: approve, review, reject, leave")
    after: dict[str, int]
    changed: int
    turns: list[dict[str, Any]] = Field(description="at most ten that change side, with the reasons")


@router.get("/collection/strategies", Page[StrategyOut], 409)
@needs("viewer")
def strategy_list(request, filters: Query[PageQuery]):
    """All versions of strategies, newest first; the last of a name is in force."""
    return page_to_json(page_of(CollectionStrategy.objects.all(), order=("-id",), **filters.place))


@router.post("/collection/strategies", {201: StrategyOut}, 400, 409)
@needs("admin")
def strategy_save(request, body: StrategyIn):
    """Store the next version of a strategy. It is in force at once."""
    return Status(201, strategies.save_version(body.changes, by=request.user.username, name=body.name))


@router.get("/collection/runs", Page[CollectionRunOut], 409)
@needs("viewer")
def run_list(request, filters: Query[PageQuery]):
    """All runs, newest first."""
    rows = CollectionRun.objects.select_related("strategy")
    page = page_of(rows, order=("-id",), **filters.place)
    return page_to_json(page, [_run_to_json(run) for run in page])


@router.post("/collection/runs", {202: RunStartedOut}, 400, 409)
@needs("labeller")
def run_start(request, body: RunIn):
    """Queue a run; returns its number and its job."""
    run, started = job.start_run(by=request.user.username, **body.dict())
    return Status(202, {"run": run.id, "job": started})


@router.get("/collection/runs/{run_id}", CollectionRunOut, 404)
@needs("viewer")
def run_detail(request, run_id: int):
    """One run with its funnel."""
    return _run_to_json(get_object_or_404(CollectionRun.objects.select_related("strategy"), id=run_id))


@router.get("/collection/runs/{run_id}/turns", Page[CollectedTurnOut], 404, 409)
@needs("viewer")
def run_turns(request, run_id: int, filters: Query[TurnQuery]):
    """The turns of a run with one outcome, except those that a later run looked at."""
    run = get_object_or_404(CollectionRun, id=run_id)
    page = page_of(runs.find_turns(run, get_outcome(filters.outcome)), order=("id",), **filters.place)
    return page_to_json(page, [_turn_to_json(row) for row in page])


@router.post("/collection/what-if", WhatIfOut, 400, 409)
@needs("viewer")
def what_if_count(request, body: WhatIfIn):
    """Count turns by side with other switches and thresholds. Nothing is stored."""
    before = strategies.find_in_force().criteria
    return what_if.compare(before, strategies.change_criteria(before, body.changes)).to_json()


def _run_to_json(run):
    columns = {name: getattr(run, name) for name in CollectionRunOut.model_fields if hasattr(run, name)}
    return {**columns, "strategy": str(run.strategy), **runs.build_funnel(run.counts)}


def _turn_to_json(row):
    names = ("agent_id", "turn_id", "session_id", "turn_number", "at", "score", "run_id")
    outcome = TurnOutcome.Outcome(row.outcome).label
    return {**{name: getattr(row, name) for name in names}, "outcome": outcome, "answers": criteria.read_bits(row)}
