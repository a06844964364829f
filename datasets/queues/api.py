"""The API of review queues: list, create, next item, verdict, conflicts, agreement."""

from typing import Any, Literal

from django.shortcuts import get_object_or_404
from ninja import Status
from pydantic import Field, model_validator

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Schema
from openclaw_web.endpoints.table_schemas import table_schema
from openclaw_web.pages.roles import needs
from people.audit import log as audit

from ..models import DatasetSample, QueueItem, ReviewQueue, SampleLabel
from ..review.api import JudgedOut, NextOut, SampleId, VerdictIn
from ..review.claims import Claim
from ..review.queues import Queue
from ..schemas import NO_NUL, LabelIn
from . import answers, page, queue_store
from .blind import cover
from .questions import parse_questions
from .queue_agreement import build_report
from .seats import SeatClaims
from .waiting import BY_VALUE

MOST_CONFLICTS = 100
Order = Literal["value", "newest"]


class QueueOut(table_schema(ReviewQueue)):
    assigned: list[str] = Field(description="who may judge; empty: everybody who may label")
    adjudicators: list[str]
    waiting: int = Field(description="items that wait for you, counted up to 1,000")


class QueuesOut(Schema):
    queues: list[QueueOut]


class QueueIn(Body):
    name: str = Field(min_length=1, max_length=queue_store.LONGEST_NAME, pattern=NO_NUL)
    sample_filter: str = Field("", max_length=500, pattern=NO_NUL, description="filter of the list of samples")
    reviewers: int = Field(2, ge=1, le=5)
    gold_share: int = Field(0, ge=0, le=50)
    assigned: list[str] = Field([], max_length=queue_store.MOST_PEOPLE)
    adjudicators: list[str] = Field([], max_length=queue_store.MOST_PEOPLE)
    text: str = Field("", max_length=queue_store.LONGEST_GUIDELINE, pattern=NO_NUL, description="the guideline")
    questions: list[str] = Field([], max_length=20, description="such as `choice: Tone | formal | casual`")


class QueueNextOut(NextOut):
    reason: str | None = Field(description="why the item comes now; null: there is none")
    guideline: int = Field(description="number of the version to name with the verdict")
    text: str
    questions: list[dict[str, Any]]


class QueueVerdictIn(VerdictIn):
    guideline: int | None = Field(
        None, ge=1, lt=10**6, description="the version you were given; default: the current one"
    )
    answers: dict[str, str] = Field({}, max_length=5, description="by question")
    with_twins: bool = Field(False, description="the same verdict for the samples of the same words")


class AdjudicationIn(Body):
    """The verdict that is right: one of the conflict's, or another one."""

    sample_id: SampleId
    chosen: str | None = Field(None, max_length=40, description="id of a verdict of the conflict")
    verdict: LabelIn | None = Field(None, description="a third verdict, without `chosen`")

    @model_validator(mode="after")
    def _check_choice(self):
        if (self.chosen is None) == (self.verdict is None):
            raise ValueError("give either chosen or verdict")
        return self


class QueueConflictOut(Schema):
    sample_id: str
    verdicts: list[dict[str, Any]] = Field(description="without names")


class ConflictsOut(Schema):
    conflicts: list[QueueConflictOut] = Field(description="the first 100")


class DecidedOut(Schema):
    sample_id: str
    status: str
    label_id: str


class AgreementGroupOut(Schema):
    part: str
    week: str | None = Field(description="its Monday; null: of all weeks")
    pair: list[str] | None = Field(description="user names; null: of everybody")
    n: int
    measures: dict[str, dict[str, float | None] | None] = Field(
        description="value, low and high (95 %) of percent, alpha, ac1, positive, negative, kappa; null: too few items"
    )


class GoldOut(Schema):
    reviewer: str
    n: int
    right: dict[str, float]


class AgreementOut(Schema):
    queue: str
    enough: int = Field(description="items that a measure needs")
    groups: list[AgreementGroupOut]
    gold: list[GoldOut] = Field(description="answers on items with a known verdict")


router = Operations("datasets_queues_api", tags=["review"])


@router.get("/review/queues", QueuesOut)
@needs("labeller")
def queue_list(request):
    """The open queues in which you may work; operators see all queues."""
    rows = queue_store.list_queues(request.user, is_all=request.user.has_role("operator"))
    return {"queues": [_build_queue(queue, count) for queue, count in rows]}


@router.post("/review/queues", {201: QueueOut}, 400, 409)
@needs("operator")
def queue_create(request, body: QueueIn):
    """Create a queue with the samples that fit the filter now."""
    options = body.dict() | {"questions": parse_questions("\n".join(body.questions))}
    return Status(201, _build_queue(queue_store.create_queue(by=request.user.username, **options), 0))


@router.get("/review/queues/{queue_id}/next", QueueNextOut, 404)
@needs("labeller")
def queue_next(request, queue_id: str, order: Order = BY_VALUE):
    """Claim the next item that waits for you. Verdicts of others are hidden until you have given yours."""
    queue = queue_store.find_own_queue(request.user, queue_id)
    place = Queue(review_queue=queue_id, order=order)
    return _build_next(request, queue, SeatClaims(place).take_next(place, by=request.user.username))


@router.post("/review/queues/{queue_id}/verdict", JudgedOut, 400, 404, 409)
@needs("labeller")
def queue_verdict(request, queue_id: str, body: QueueVerdictIn, order: Order = BY_VALUE):
    """Give your verdict on an item and claim the next one, both or neither."""
    queue = queue_store.find_own_queue(request.user, queue_id)
    place = Queue(review_queue=queue_id, order=order)
    judged, claim = answers.answer_and_take_next(place, body.sample_id, _read_verdict(body), user=request.user)
    return {"judged": judged, **_build_next(request, queue, claim)}


@router.get("/review/queues/{queue_id}/conflicts", ConflictsOut, 404)
@needs("labeller")
def queue_conflicts(request, queue_id: str):
    """The conflicts that wait for a decision, with their verdicts."""
    queue = queue_store.find_own_queue(request.user, queue_id, to_adjudicate=True)
    conflicts = []
    for item in queue.items.filter(state=QueueItem.State.CONFLICT).order_by("-value", "-id")[:MOST_CONFLICTS]:
        sample = DatasetSample.objects.filter(id=item.sample_id).first()
        labels = SampleLabel.objects.filter(id__in=item.seats.values("label_id")).order_by("id")
        if sample:
            audit.record(request.user.username, "read", object_type="sample", object_id=sample.id)
            conflicts.append({"sample_id": sample.id, "verdicts": [page.describe_rival(label) for label in labels]})
    return {"conflicts": conflicts}


@router.post("/review/queues/{queue_id}/adjudicate", DecidedOut, 400, 404, 409)
@needs("labeller")
def queue_adjudicate(request, queue_id: str, body: AdjudicationIn):
    """Decide a conflict; your verdict is the sample's."""
    queue_store.find_own_queue(request.user, queue_id, to_adjudicate=True)
    verdict = body.verdict.read_verdict() if body.verdict else {"chosen": body.chosen}
    place = Queue(review_queue=queue_id, conflicts=True)
    sample, _claim = answers.answer_and_take_next(place, body.sample_id, verdict, user=request.user)
    return {"sample_id": sample.id, "status": sample.annotation_status, "label_id": sample.label_id}


@router.get("/review/queues/{queue_id}/agreement", AgreementOut, 404)
@needs("operator")
def queue_agreement(request, queue_id: str):
    """How far the reviewers agree, by part, week and pair, and how often they gave a known verdict."""
    return build_report(queue_store.read_queue(queue_id))


def _read_verdict(body):
    return body.read_verdict() | body.dict(include={"guideline", "answers", "with_twins"})


def _build_queue(queue, waiting):
    return {name: getattr(queue, name) for name in QueueOut.model_fields if name != "waiting"} | {"waiting": waiting}


def _build_next(request, queue, claim: Claim | None):
    guideline = queue.guidelines.get(number=queue.guideline)
    about = {"guideline": guideline.number, "text": guideline.text, "questions": guideline.questions, "reason": None}
    if claim is None:
        return {"sample": None, "claim": None, **about}
    request.opened = ("sample", claim.sample_id)  # for the audit log: the address does not name it
    sample = get_object_or_404(DatasetSample, id=claim.sample_id)
    cover(sample)
    item = queue.items.get(sample_id=claim.sample_id)
    return {"sample": sample, "claim": claim, **about, "reason": item.reason}
