"""A review queue on the page of the queue: guideline, questions, twins, and the verdicts of a conflict."""

from typing import Any

from django.http import QueryDict

from people.models import User

from .. import word_diff
from ..forms import VerdictForm, normalise_text
from ..models import DatasetSample, QueueItem, ReviewQueue, SampleLabel
from ..review.parts import parse_corrected
from ..review.queues import WAITING, Queue
from .blind import cover
from .words import REASON_WORDS

ANSWER = "answer_"  # what the fields of questions begin with; their numbers follow


def build_queue_context(queue: ReviewQueue, sample: DatasetSample, place: Queue, user: User) -> dict[str, Any]:
    """The context about an item; the sample is covered unless the person has given their verdict."""
    item = QueueItem.objects.filter(queue=queue, sample_id=sample.id).first()
    guideline = queue.guidelines.get(number=queue.guideline)
    seats = item.seats.filter(label_id__isnull=False) if item else SampleLabel.objects.none()
    if place.conflicts or not (item and seats.filter(reviewer=user.username).exists()):
        cover(sample)
    twins = DatasetSample.objects.filter(id__in=item.twins, annotation_status__in=WAITING).count() if item else 0
    context = {"item": item, "guideline": guideline, "twins": twins, "rivals": [], "reason": ""}
    if item:
        context["reason"] = REASON_WORDS[item.reason]
    if place.conflicts and item and item.state == QueueItem.State.CONFLICT:
        labels = SampleLabel.objects.filter(id__in=seats.values("label_id")).order_by("id")
        own = normalise_text(sample.body.get("agentReply") or "")
        for label in labels:
            changes = word_diff.compare_words(own, label.output) if label.output is not None else []
            context["rivals"].append(describe_rival(label) | {"changes": changes})
    return context


def describe_rival(label: SampleLabel) -> dict[str, Any]:
    """One of the verdicts of a conflict, without its author."""
    return {
        "id": label.id,
        "status": label.status,
        "reason": label.reason,
        "notes": label.notes,
        "output": label.output,
        "gate_label": label.gate_label,
        "gate": parse_corrected(label.gate_corrected_output),
        "guardian_label": label.guardian_label,
        "guardian": parse_corrected(label.guardian_corrected_output),
        "answers": label.answers,
    }


def read_answer(post: QueryDict, form: VerdictForm) -> dict[str, Any]:
    """The arguments of `answers.answer` or `answers.adjudicate` that the page sends."""
    verdict = form.read_verdict() if form.is_valid() else {"status": ""}
    number = post.get("guideline", "")
    names = [(name, post.get(f"{ANSWER}{index}", "")) for index, name in enumerate(post.getlist("question"), 1)]
    guideline = int(number) if number.isascii() and number.isdecimal() and len(number) < 9 else None
    more = {"with_twins": "with_twins" in post, "guideline": guideline}
    chosen = {"chosen": post["chosen"]} if post.get("chosen") else {}
    return verdict | more | {"answers": dict(names)} | chosen
