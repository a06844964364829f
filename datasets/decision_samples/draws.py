"""Decisions drawn at random for review: a sample for each, in a queue of their own."""

from collections.abc import Iterator
from itertools import islice

from agents.models import Agent
from gate import verdict_store
from gate.statistics import random_draw
from gate.statistics.figures import Period
from openclaw_web import clock

from ..kinds.review_requests import queue_decisions
from ..models import DatasetSample, ReviewDraw
from ..review.queues import WAITING

COUNT = 20
MOST_TRIES = 10  # batches of decisions, most of which cannot be samples


def draw_samples(
    agent: Agent, period: Period, *, draw_id: str, by: str, model: str = "", prompt: str = ""
) -> ReviewDraw:
    """Draw up to 20 decisions that nobody judged, as samples that need review.

    A known `draw_id` returns the draw that was made with it.

    Decisions that cannot become samples are passed over. A sample that waits already is taken as it is.
    """
    known_draw = ReviewDraw.objects.filter(id=draw_id).first()
    if known_draw:
        return known_draw
    verdict_store.copy_all(agent)
    ids = random_draw.draw_decisions(agent.db, period, seed=draw_id, model=model, prompt=prompt)
    samples = list(islice(_create_samples(agent, ids, by), COUNT))
    review_draw, _is_new = ReviewDraw.objects.get_or_create(
        id=draw_id,
        defaults={
            "agent_id": agent.agent_id,
            "drawn_by": by,
            "drawn_at": clock.now_ms(),
            "samples": samples,
        },
    )
    return review_draw


def count_samples(review_draw: ReviewDraw) -> int:
    """The number of samples in a draw."""
    return len(review_draw.samples)


def _create_samples(agent, ids: Iterator[str], by) -> Iterator[str]:
    """Yield ids of these decisions' samples that wait for review; missing samples are created."""
    number = 0
    for _try in range(MOST_TRIES):
        piece = list(islice(ids, COUNT - number))
        if not piece:
            return
        queued = queue_decisions(agent, piece, by=by)
        samples = list(dict.fromkeys([*queued.made, *queued.existing]))
        waiting = set(
            DatasetSample.objects.filter(id__in=samples, annotation_status__in=WAITING).values_list("id", flat=True)
        )
        waiting_ids = [name for name in samples if name in waiting]
        number += len(waiting_ids)
        yield from waiting_ids
        if number >= COUNT:
            return
