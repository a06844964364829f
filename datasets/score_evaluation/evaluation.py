"""The report: verdicts of people on scored samples, and how far score, signals and plain baselines agree with them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Subquery
from django.db.models.functions import Substr

from gate.statistics.verdict_summary import VerdictCount
from ledger import consent

from ..decision_samples.list_columns import build_reply_text
from ..models import DatasetSample, ReviewQueue, SampleLabel, ScoreCall, SignalPosition, TurnSignals
from ..quality import job
from ..quality.all_signals import SIGNALS
from ..quality.languages import count_scripts
from .auc import Area, estimate_area

MOST = 10_000  # judged samples, the newest
LONGEST = 20_000  # characters of a reply; longer ones count as that long
LEAST_VERDICTS, LEAST_OF_CLASS = 200, 30
MOST_GUIDELINES = 50
BUCKETS = 10
NOT_ENOUGH, WORTHLESS, USEFUL = "not_enough", "worthless", "useful"
NO_SCRIPT = "none"
TURN, DECISION, WRITE = "turn", "decision", "write"
# Why a verdict does not count: the answers of its turn are not those of today's consent; given to many samples at once,
# perhaps by their score; on words that a person wrote; on a turn without a score.
WAITING, BULK, EDITED, UNSCORED = LEFT_OUT = ("waiting", "bulk", "edited", "unscored")
COLUMNS = (
    *("agent_id", "sample_type", "annotation_status", "gate_label", "guardian_label", "output", "quality_score"),
    *("is_bulk", "reply", "yes", "unknown", "model_score", "queue", "guideline"),
)


class Case(NamedTuple):
    """A verdict of a person beside the facts of its turn; `yes` and `known` have bits of signals."""

    is_good: bool
    score: float
    length: int
    script: str
    yes: int
    known: int
    model_score: float | None = None
    guideline: str = ""  # name of the review queue and number of the version; empty: a verdict outside of queues


def evaluate_score(agent_id: str = "") -> dict[str, Any]:
    """The figures of the newest judged samples, of an agent or all; JSON-able."""
    left_out: Counter[str] = Counter()
    cases: dict[str, list[Case]] = {TURN: [], DECISION: [], WRITE: []}
    count = 0
    judged = _select_judged(agent_id)
    for row in _read_rows(judged):
        if reason := _find_reason(row):
            left_out[reason] += 1
            continue
        count += 1
        for part, is_good in _list_verdicts(row):
            cases[part].append(_build_case(row, is_good))
    turns = cases[TURN]
    scripts = sorted({case.script for case in turns})
    guidelines = sorted({case.guideline for case in turns if case.guideline})[:MOST_GUIDELINES]
    return {
        "judged": left_out.total() + count,
        "is_cut": judged[MOST:].exists(),
        "left_out": {reason: left_out[reason] for reason in LEFT_OUT},
        **measure(turns),
        "model": _measure_model(turns),
        "scores": _calibrate(turns),
        "signals": [_measure_signal(signal, turns) for signal in SIGNALS],
        "parts": [{"name": part, **measure(cases[part])} for part in cases],
        "scripts": [{"name": name, **measure([case for case in turns if case.script == name])} for name in scripts],
        "guidelines": [
            {"name": name, **measure([case for case in turns if case.guideline == name])} for name in guidelines
        ],
    }


def measure(cases: Sequence[Case]) -> dict[str, Any]:
    """The score of some cases against their verdicts, beside the length of the reply and the more frequent verdict."""
    sides = _split(cases)
    approved = VerdictCount(len(cases), len(sides[0]))
    measured: dict[str, Any] = {"verdicts": len(cases), "approved": approved.right, "state": NOT_ENOUGH}
    measured |= {"base_rate": approved.share, "majority": None, "area": None, "length": None}
    if approved.share is not None:
        measured["majority"] = max(approved.share, 1 - approved.share)
    if is_enough(sides):
        area, length = (
            estimate_area(*[[getattr(case, name) for case in side] for side in sides]) for name in ("score", "length")
        )
        state = USEFUL if area.low > max(0.5, length.strength) else WORTHLESS
        measured |= {"state": state, "area": _area_to_json(area), "length": _area_to_json(length)}
    return measured


def is_enough(sides: Sequence[Sequence[Any]]) -> bool:
    """Whether there are verdicts enough, and enough of either kind, to measure anything."""
    return sum(map(len, sides)) >= LEAST_VERDICTS and min(map(len, sides)) >= LEAST_OF_CLASS


def _select_judged(agent_id):
    """The samples that were approved or rejected, but not by rule, the newest first."""
    judged = DatasetSample.objects.filter(annotation_status__in=("approved", "rejected"))
    return (judged.filter(agent_id=agent_id) if agent_id else judged).order_by("-created_at", "-id")


def _read_rows(judged) -> Iterator[dict[str, Any]]:
    """The newest samples that a person judged, as dictionaries of COLUMNS and `is_current`."""
    answers = TurnSignals.objects.filter(agent_id=OuterRef("agent_id"), turn_id=OuterRef("turn_id"))
    scored = ScoreCall.objects.filter(sample_id=OuterRef("pk"), outcome=ScoreCall.Outcome.SCORED).order_by(
        "-created_at"
    )
    label = SampleLabel.objects.filter(id=OuterRef("label_id"))
    of_queue = SampleLabel.objects.filter(id=OuterRef(OuterRef("label_id"))).values("queue_id")
    queues = ReviewQueue.objects.filter(id=Subquery(of_queue))
    newest = DatasetSample.objects.filter(id__in=judged.values("id")[:MOST])
    rows = newest.filter(label_id__isnull=False, annotated_by__isnull=False).annotate(
        is_bulk=Exists(label.filter(bulk_id__isnull=False)),
        queue=Subquery(queues.values("name")),
        guideline=Subquery(label.values("guideline")),
        reply=Substr(build_reply_text(), 1, LONGEST),
        model_score=Subquery(scored.values("score")[:1]),
        **{name: Subquery(answers.values(name)) for name in ("yes", "unknown")},
    )
    # While nobody has opted out, all words may be used; later those of agents that were asked with today's list.
    current = None
    if consent.read_opted_out():
        positions = SignalPosition.objects.filter(session_id="", consent=job.read_consent())
        current = set(positions.values_list("agent_id", flat=True))
    for row in rows.order_by().values(*COLUMNS).iterator(chunk_size=200):
        yield row | {"is_current": current is None or row["agent_id"] in current}


def _find_reason(row):
    """Why a verdict does not count; empty if it does."""
    if not row["is_current"]:
        return WAITING
    if row["is_bulk"]:
        return BULK
    if row["output"] is not None:
        return EDITED
    return UNSCORED if row["quality_score"] is None else ""


def _list_verdicts(row):
    """The verdicts of a sample by part: on its turn, on the gate's decision, on the write."""
    if row["sample_type"] == DatasetSample.Type.ANNOTATED_TURN:
        yield TURN, row["annotation_status"] == DatasetSample.Status.APPROVED
    for part, label in ((DECISION, row["gate_label"]), (WRITE, row["guardian_label"])):
        if label:
            yield part, label == "correct"


def _build_case(row, is_good):
    reply = row["reply"] or ""
    scripts = count_scripts(reply).most_common(1)
    script = scripts[0][0] if scripts and scripts[0][1] else NO_SCRIPT
    known = 0 if row["unknown"] is None else ~row["unknown"]
    guideline = f"{row['queue']}, {row['guideline']}" if row["queue"] and row["guideline"] else ""
    yes = row["yes"] or 0
    return Case(is_good, row["quality_score"], len(reply), script, yes, known, row["model_score"], guideline)


def _split(cases):
    """The approved cases, then the rejected ones."""
    return [case for case in cases if case.is_good], [case for case in cases if not case.is_good]


def _calibrate(cases):
    """The share of approvals by tenths of the score; a score of 1 is in the last one."""
    buckets = [VerdictCount() for _ in range(BUCKETS)]
    for case in cases:
        bucket = buckets[min(BUCKETS - 1, int(case.score * BUCKETS))]
        bucket.count += 1
        bucket.right += case.is_good
    return [
        {"at_least": number / BUCKETS, "below": (number + 1) / BUCKETS, **_count_to_json(bucket)}
        for number, bucket in enumerate(buckets)
    ]


def _measure_signal(signal, cases):
    """How many of the turns that a signal answers with yes were rejected, and its area."""
    known = [case for case in cases if case.known >> signal.bit & 1]
    sides = [[case.yes >> signal.bit & 1 for case in side] for side in _split(known)]
    approved, rejected = map(sum, sides)
    return {
        "name": signal.name,
        "known": len(known),
        "rejected": len(sides[1]),
        "yes": _count_to_json(VerdictCount(approved + rejected, rejected)),
        "area": _area_to_json(estimate_area(sides[1], sides[0])) if is_enough(sides) else None,
    }


def _measure_model(cases):
    """The newest scores of a language model on the turns that have one; it never sees a verdict."""
    sides = [[case.model_score for case in side if case.model_score is not None] for side in _split(cases)]
    return {
        "verdicts": sum(map(len, sides)),
        "area": _area_to_json(estimate_area(*sides)) if is_enough(sides) else None,
    }


def _count_to_json(counted):
    values = counted.as_json()
    return {"count": values["count"], "hits": values["right"], "share": values["share"], "interval": values["interval"]}


def _area_to_json(area: Area):
    return {name: round(value, 4) for name, value in area._asdict().items()}
