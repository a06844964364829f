"""The items of a queue: samples that fit its filter, one for samples of the same words, in the order of their value."""

import random
from collections import Counter

from django.db.models import Count, Q

from openclaw_web.batches import in_batches
from people.models import User

from ..model_scores.scoring import find_scores
from ..models import DatasetSample, QueueItem, ReviewQueue, SampleLabel
from ..sample_list import SAMPLES, read_sample_filter

MOST_ITEMS, MOST_TWINS, BATCH = 10_000, 200, 500
RARE_SHARE, FEW = 0.05, 20  # a kind is rare below this share, in a queue of at least so many samples
Reason = QueueItem.Reason
# A reason goes before the next one; numbers below 1,000 order the items of one reason.
RANKS = {Reason.CONFLICT: 4_000, Reason.SCORE: 3_000, Reason.RARE: 2_000, Reason.TWINS: 1_000, Reason.NEW: 0}
OF_VERDICTS = ("status", "by", "judged", "reason", "edited")  # filters that gold items need not fit
COLUMNS = ("id", "sample_type", "turn_traits", "created_at", "quality_score", "signature__words")


def add_items(queue: ReviewQueue) -> int:
    """Add the samples that fit the filter and are not in the queue, inside the caller's transaction.

    A sample with the words of an open item joins this item. Returns the number of new items, at most MOST_ITEMS in all.
    """
    groups, in_queue = {}, set()
    for item in queue.items.only("id", "sample_id", "state", "twin_group", "twins_json"):
        in_queue |= {item.sample_id, *item.twins}
        if item.twin_group and item.state == QueueItem.State.OPEN:
            groups[item.twin_group] = item
    criteria = read_sample_filter(queue.sample_filter).criteria
    samples = SAMPLES.fits(None, **criteria).all.filter(repeat_of=None).order_by("-created_at", "-id")
    rows = [row for row in samples.values(*COLUMNS)[: 2 * MOST_ITEMS + len(in_queue)] if row["id"] not in in_queue]
    new, grown, room = [], {}, MOST_ITEMS - queue.items.count()
    for row in rows:
        group = f"{row['signature__words'].hex()} {row['sample_type']}" if row["signature__words"] else ""
        item = groups.get(group) if group else None
        if item and len(item.twins) < MOST_TWINS:
            item.twins = [*item.twins, row["id"]]
            if item.id:
                grown[item.id] = item
        elif not item and len(new) < room:
            item = QueueItem(
                queue=queue, sample_id=row["id"], sample_created_at=row["created_at"], twin_group=group, twins=[]
            )
            new.append(item)
            if group:
                groups[group] = item
    _rank_items(new, {row["id"]: row for row in rows})
    new += _pick_gold(queue, criteria, new, in_queue | {row["id"] for row in rows})
    QueueItem.objects.bulk_create(new, batch_size=BATCH)
    QueueItem.objects.bulk_update(grown.values(), ["twins_json"], batch_size=BATCH)
    return len(new)


def _rank_items(items, rows):
    """Give new items their value and its reason."""
    disputed, by_model = set(), {}
    for batch in in_batches([item.sample_id for item in items], BATCH):
        labels = SampleLabel.objects.filter(sample__in=batch, undoes=None, amends=None).values("sample")
        people = labels.annotate(people=Count("labelled_by", distinct=True), verdicts=Count("status", distinct=True))
        by_model |= find_scores(batch)
        disputed.update(people.filter(people__gt=1, verdicts__gt=1).values_list("sample", flat=True))
    kinds = Counter((rows[item.sample_id]["sample_type"], rows[item.sample_id]["turn_traits"]) for item in items)
    for item in items:
        row = rows[item.sample_id]
        opinion = by_model.get(item.sample_id)
        score = row["quality_score"] if opinion is None else opinion.score
        is_rare = len(items) >= FEW and kinds[row["sample_type"], row["turn_traits"]] < RARE_SHARE * len(items)
        within = 0
        if item.sample_id in disputed:
            item.reason = Reason.CONFLICT
        elif score is not None and score < 0.65:
            item.reason, within = Reason.SCORE, max(0, round(999 - 1_998 * abs(score - 0.5)))
        elif is_rare:
            item.reason = Reason.RARE
        elif item.twins:
            item.reason, within = Reason.TWINS, len(item.twins)
        else:
            item.reason = Reason.NEW
        item.value = RANKS[item.reason] + within


def _pick_gold(queue, criteria, items, in_queue):
    """Items with a known verdict, at the places of random other ones, so that nobody can tell them apart."""
    count = len(items) * queue.gold_share // (100 - queue.gold_share)
    if not count:
        return []
    admins = User.objects.filter(role=User.Role.ADMIN).values_list("username", flat=True)
    by_admin = Q(labelled_by__in=list(admins), status__in=DatasetSample.APPROVED)
    known = SampleLabel.objects.filter(Q(kind="adjudication") | by_admin, undoes=None).values("id")
    narrow = {name: value for name, value in criteria.items() if name not in OF_VERDICTS}
    samples = SAMPLES.fits(None, **narrow).all.filter(label_id__in=known).order_by("-annotated_at", "-id")
    rows = samples.values_list("id", "label_id")[: 2 * count + len(in_queue)]
    fitting = [row for row in rows if row[0] not in in_queue]
    dice = random.Random(queue.id)  # noqa: S311 - no secret: the same queue draws the same ones
    places = dice.choices(items, k=count)
    return [
        QueueItem(
            queue=queue, sample_id=sample_id, gold_label=label_id, value=place.value, reason=place.reason,
            sample_created_at=place.sample_created_at, twins=[],
        )
        for (sample_id, label_id), place in zip(dice.sample(fitting, min(count, len(fitting))), places, strict=False)
    ]  # fmt: skip
