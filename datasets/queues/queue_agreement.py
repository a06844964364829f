"""The agreement of a queue: of all its verdicts in force, and by week and by pair of reviewers, for each part."""

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

from ..models import QueueItem, QueueSeat, ReviewQueue, SampleLabel
from .agreement import ENOUGH, measure_all, wilson

# Each part with the value that counts as positive.
PARTS = {"status": "approved", "gate_label": "correct", "guardian_label": "correct"}
MOST_PAIRS, MOST_WEEKS = 20, 12  # of a part: the pairs with most items, the latest weeks


def build_report(queue: ReviewQueue) -> dict[str, Any]:
    """Groups of items with their measures, and the right answers of each reviewer on items with a known verdict.

    A group has `part`, `week` (its Monday) or `pair` (two user names) or neither, `n` and `measures` by name; a measure
    is None below ENOUGH items.
    """
    by_item = _read_answers(queue)
    groups = []
    for part, positive in PARTS.items():
        judged, weeks, pairs = [], defaultdict(list), defaultdict(list)
        for rows in by_item.values():
            values = [(row[0], row[1][part]) for row in rows if row[1][part]]
            if len(values) < 2:
                continue
            item = tuple(value for _name, value in values)
            judged.append(item)
            weeks[_find_week(rows[-1][1]["labelled_at"])].append(item)
            for (first, a), (second, b) in combinations(sorted(values), 2):
                pairs[first, second].append((a, b))
        if judged:
            groups.append(_build_group(part, judged, positive))
        for week in sorted(weeks, reverse=True)[:MOST_WEEKS]:
            groups.append(_build_group(part, weeks[week], positive, week=week))
        for pair in sorted(pairs, key=lambda pair: (-len(pairs[pair]), pair))[:MOST_PAIRS]:
            groups.append(_build_group(part, pairs[pair], positive, pair=list(pair)))
    return {"queue": queue.name, "enough": ENOUGH, "groups": groups, "gold": _read_gold(queue, by_item)}


def _read_answers(queue):
    """For each item its verdicts in force: user names and columns, in the order in which they were given."""
    columns = ("labelled_by", "labelled_at", *PARTS)
    labels = {
        row.pop("id"): row
        for row in SampleLabel.objects.filter(queue_id=queue.id).order_by("id").values("id", *columns)
    }
    seats = QueueSeat.objects.filter(item__queue=queue, label_id__isnull=False).order_by("label_id")
    by_item = defaultdict(list)
    for item_id, reviewer, label_id in seats.values_list("item_id", "reviewer", "label_id"):
        by_item[item_id].append((reviewer, labels[label_id]))
    return by_item


def _read_gold(queue, by_item):
    """How often each reviewer gave the known verdict: the same status and, where it has them, labels of the parts."""
    gold = dict(QueueItem.objects.filter(queue=queue, gold_label__isnull=False).values_list("id", "gold_label"))
    known = SampleLabel.objects.in_bulk(list(gold.values()))
    right, total = Counter(), Counter()
    for item_id, label_id in gold.items():
        expected = {part: getattr(known[label_id], part) for part in PARTS} if label_id in known else {}
        for reviewer, row in by_item.get(item_id, ()):
            total[reviewer] += 1
            right[reviewer] += all(row[part] == value for part, value in expected.items() if value)
    return [
        {"reviewer": name, "n": count, "right": wilson(right[name] / count, count)._asdict()}
        for name, count in sorted(total.items())
    ]


def _build_group(part, items, positive, *, week=None, pair=None):
    measures = measure_all(items, positive, is_pair=pair is not None)
    shown_measures = {name: value and value._asdict() for name, value in measures.items()}
    return {"part": part, "week": week, "pair": pair, "n": len(items), "measures": shown_measures}


def _find_week(at):
    day = datetime.fromtimestamp(at / 1000, UTC).date()
    return (day - timedelta(days=day.weekday())).isoformat()
