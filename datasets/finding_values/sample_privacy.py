"""The columns of samples about personal data: searched, found, and the content without it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from django.db import DEFAULT_DB_ALIAS

from agents import databases
from findings import places
from findings.detection import read_detection
from findings.models import Finding
from findings.value_hash import compute_value_hash
from openclaw_web.detectors import detect
from openclaw_web.sqlite import statements, write_queue

from ..exporters.markers import TokenNumbers, has_marker
from ..exporters.redaction import Place, Redactor, Rules
from ..exporters.samples import GATE_TYPES
from ..models import DatasetSample
from .decisions import DecisionCache

COLUMNS = ("privacy_checked", "contains_pii", "pii_redacted_content")
UPDATE = f"UPDATE dataset_samples SET {', '.join(f'{name} = %s' for name in COLUMNS)} WHERE id = %s AND content = %s"  # noqa: S608
BATCH = 20  # samples whose contents are in memory
MOST_SAMPLES = 500  # that one verdict refreshes at once
MOST_SESSIONS = 200
MOST_ADDED = 50  # values that people added in one session
LONGEST = 2_000_000  # characters of a content that is searched


def set_columns(samples: Sequence[DatasetSample]) -> None:
    """Set the three columns of samples that are not stored yet, or were just read."""
    cache, detection = DecisionCache(), read_detection()
    by_session: dict[tuple[str, str], list[DatasetSample]] = defaultdict(list)
    for sample in samples:
        by_session[sample.agent_id, sample.session_id].append(sample)
    for (agent_id, session_id), group in by_session.items():
        rules = Rules(
            find_spans=lambda text: detect.find_spans(text, detection.custom),
            hash_value=compute_value_hash,
            find_state=lambda kind, rule, name, place: cache.find_state(kind, rule, name, place.name, place.agent_id),
            added=read_added(agent_id, session_id),
        )
        redactor = Redactor(rules)
        for sample in group:
            _set_sample(sample, redactor)


def refresh(sample_ids: Iterable[str]) -> int:
    """Set the columns of stored samples anew, in bounded batches; return how many were read.

    A sample whose content changes meanwhile keeps its columns: who changes it refreshes it.
    """
    ids, count = list(sample_ids), 0
    for start in range(0, len(ids), BATCH):
        samples = list(DatasetSample.objects.filter(id__in=ids[start : start + BATCH]))
        before = [[getattr(sample, name) for name in COLUMNS] for sample in samples]
        set_columns(samples)
        after = [[getattr(sample, name) for name in COLUMNS] for sample in samples]
        changed = [
            [*values, sample.id, sample.content]
            for sample, old, values in zip(samples, before, after, strict=True)
            if old != values
        ]
        if changed:
            with write_queue.global_transaction():
                statements.run_many(DEFAULT_DB_ALIAS, UPDATE, changed)
        count += len(samples)
    return count


def refresh_gate(sample_id: str) -> None:
    """Refresh a sample of a gate decision: a verdict on it changes its content."""
    refresh(DatasetSample.objects.filter(id=sample_id, sample_type__in=GATE_TYPES).values_list("id", flat=True))


def refresh_value(agent_ids: Iterable[str], value_hash: str) -> int:
    """Refresh the samples of sessions in which a value stands; return how many.

    At most 500: what more there are follows with their next verdict, or with `refresh_all`.
    """
    count = 0
    for agent_id in agent_ids:
        if db := databases.find_alias(agent_id):
            rows = Finding.objects.using(db).filter(value_hash=value_hash).exclude(session_id=None)
            sessions = list(rows.values_list("session_id", flat=True).distinct()[:MOST_SESSIONS])
            count += refresh(_find_samples(agent_id, sessions)[: MOST_SAMPLES - count])
    return count


def refresh_place(agent_id: str, place: str) -> int:
    """Refresh the samples of a turn's session; return how many. Other places have none."""
    session_id = place.removeprefix("record:").rpartition("/")[0] if place.startswith("record:") else ""
    return refresh(_find_samples(agent_id, [session_id])) if session_id else 0


def refresh_all() -> int:
    """Refresh every sample, in constant memory; return how many were read."""
    last, count = "", 0
    while ids := list(
        DatasetSample.objects.filter(id__gt=last).order_by("id").values_list("id", flat=True)[:MOST_SAMPLES]
    ):
        count += refresh(ids)
        last = ids[-1]
    return count


def read_added(agent_id: str, session_id: str) -> list[tuple[str, str]]:
    """The values that people added in a session, as pairs of kind and value.

    At most 50.
    """
    db = databases.find_alias(agent_id) if session_id else None
    if db is None:
        return []
    rows = (
        Finding.objects.using(db)
        .filter(session_id=session_id, state=Finding.State.ADDED.value)
        .order_by("turn_number", "id")
    )
    pairs = [(row.kind, places.read_value(db, row)) for row in rows[:MOST_ADDED]]
    return list(dict.fromkeys((kind, value) for kind, value in pairs if value))


def find_place(sample: DatasetSample) -> str:
    """The place of a sample's own texts, as verdicts on findings name it."""
    if sample.turn_number is None:
        return f"decision:{sample.decision_id}" if sample.decision_id else f"write:{sample.audit_id or ''}"
    return f"record:{sample.session_id}/{sample.turn_number}"


def _set_sample(sample, redactor):
    if len(sample.content) > LONGEST:
        sample.privacy_checked, sample.contains_pii, sample.pii_redacted_content = False, None, None
        return
    redacted = redactor.redact(sample.content, Place(sample.agent_id, find_place(sample)))
    sample.privacy_checked, sample.contains_pii = True, has_marker(redacted)
    sample.pii_redacted_content = _put_tokens(redacted) if sample.contains_pii else None


def _put_tokens(text):
    return TokenNumbers().encode(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")


def _find_samples(agent_id: str, sessions: Collection[str]) -> list[str]:
    rows = DatasetSample.objects.filter(agent_id=agent_id, session_id__in=sessions)
    return list(rows.order_by("session_id", "turn_number").values_list("id", flat=True)[:MOST_SAMPLES])
