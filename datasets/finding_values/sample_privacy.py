"""The columns of samples about personal data: searched, found, and the content without it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.utils.translation import gettext as _

from agents import databases
from agents.models import Agent
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
MOST_SAMPLES = 500  # that one verdict refreshes at once, and of which the ids are in memory
MOST_SESSIONS = 200  # whose samples are looked up at once
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
        before = [_read_columns(sample) for sample in samples]
        set_columns(samples)
        after = [_read_columns(sample) for sample in samples]
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


def refresh_found(holders: Iterable[tuple[Agent, str]], columns: Mapping[str, Any], progress: Any = None) -> int:
    """Refresh the samples of sessions with such findings; return how many.

    `holders` are agents with the aliases of their files. Raises what `progress.update` raises.
    """
    count = 0
    for agent, db in holders:
        for sessions in _read_sessions(db, columns):
            for ids in _read_samples(agent_id=agent.agent_id, session_id__in=sessions):
                count += refresh(ids)
                _report(progress, count)
    return count


def is_large(holders: Iterable[tuple[Agent, str]], columns: Mapping[str, Any]) -> bool:
    """Whether sessions with such findings are too many for one request, or their samples are."""
    room = MOST_SAMPLES
    for agent, db in holders:
        sessions = next(_read_sessions(db, columns), [])
        rows = DatasetSample.objects.filter(agent_id=agent.agent_id, session_id__in=sessions)
        room -= rows[: room + 1].count()
        if room < 0 or len(sessions) >= MOST_SESSIONS:
            return True
    return False


def refresh_place(agent_id: str, place: str) -> int:
    """Refresh the samples of a turn's session; return how many. Other places have none."""
    session_id = place.removeprefix("record:").rpartition("/")[0] if place.startswith("record:") else ""
    return sum(map(refresh, _read_samples(agent_id=agent_id, session_id=session_id))) if session_id else 0


def refresh_all(progress: Any = None) -> int:
    """Refresh every sample, in constant memory; return how many were read.

    Raises what `progress.update` raises.
    """
    count = 0
    for ids in _read_samples():
        count += refresh(ids)
        _report(progress, count)
    return count


def find_outdated(most: int) -> Iterator[str]:
    """Yield samples whose columns do not follow from findings and verdicts, among the newest `most`."""
    rows = DatasetSample.objects.order_by("-created_at", "-id")
    for start in range(0, most, BATCH):
        samples = list(rows[start : min(start + BATCH, most)])
        before = [_read_columns(sample) for sample in samples]
        set_columns(samples)
        yield from (sample.id for sample, old in zip(samples, before, strict=True) if _read_columns(sample) != old)
        if len(samples) < BATCH:
            return


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


def _read_columns(sample):
    return [getattr(sample, name) for name in COLUMNS]


def _read_sessions(db, columns) -> Iterator[list[str]]:
    """The sessions with such findings, each once, in parts."""
    last = ""
    rows = Finding.objects.using(db).filter(**columns).exclude(session_id=None).order_by("session_id")
    ids = rows.values_list("session_id", flat=True).distinct()
    while part := list(ids.filter(session_id__gt=last)[:MOST_SESSIONS]):
        yield part
        last = part[-1]


def _read_samples(**columns: Any) -> Iterator[list[str]]:
    """The ids of samples with these columns, in parts."""
    last = ""
    rows = DatasetSample.objects.filter(**columns).order_by("id").values_list("id", flat=True)
    while ids := list(rows.filter(id__gt=last)[:MOST_SAMPLES]):
        yield ids
        last = ids[-1]


def _report(progress, count):
    if progress:
        progress.update(count, None, _("Searching samples: %(count)s so far") % {"count": f"{count:,}"})
