"""The columns of samples about personal data, and the jobs that have them follow verdicts and rules."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from math import inf
from typing import Any

import orjson
from django.db import DEFAULT_DB_ALIAS
from django.db.models.functions import Length
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases
from agents.models import Agent
from findings.detection import MOST_IN_REQUEST, read_detection, read_version
from findings.models import Finding
from findings.value_hash import compute_value_hash
from jobs import services as jobs
from jobs.kinds import MINUTE_MS, Kind, Schedule
from jobs.models import JobRun
from openclaw_web.batches import in_batches
from openclaw_web.detectors import detect
from openclaw_web.sqlite import dialect, statements, write_queue
from people.models.bookkeeping import KeyValue

from ..json_texts import dump_json
from ..markers import TokenNumbers, has_marker, has_unscanned
from ..models import DatasetSample, FindingValue, FindingValueAgent, FindingVerdict
from ..redaction import Place, Redactor, Rules
from ..sample_texts import GATE_TYPES
from . import summary
from .decisions import DecisionCache, find_sessions_with_added, read_added

COPY, CHECK = "finding_verdict", "sample_privacy"  # the names of the jobs
NOTED = ("datasets", "sample_privacy_rules")  # the rules by which all samples were searched
COLUMNS = ("privacy_checked", "contains_pii", "pii_redacted_content")
# Only while the sample is as it was read: whoever edited it since refreshes it again.
UPDATE = f"""UPDATE dataset_samples SET {", ".join(f"{name} = %s" for name in COLUMNS)}
WHERE id = %s AND content = %s AND NOT ({dialect.differ("output", "%s")})"""  # noqa: S608 - our own words
BATCH = 20  # samples whose contents are in memory
MOST_VALUES = 10_000  # of a rule, whose states one verdict sets at once
MOST_SAMPLES = 500  # that one verdict refreshes at once, and of which the ids are in memory
MOST_SESSIONS = 200  # whose samples are looked up at once
MOST_ADDED = 50  # values that people added in one session


def set_columns(samples: Sequence[DatasetSample], room: float = MOST_IN_REQUEST) -> float:
    """Set the three columns of samples that are not stored yet, or were just read.

    Of all contents `room` characters are searched, and the rest of it is returned: the columns of a sample that does
    not fit are null until the job CHECK has searched it.
    """
    cache, detection = DecisionCache(), read_detection()
    by_session: dict[tuple[str, str], list[DatasetSample]] = defaultdict(list)
    sessions: dict[str, set[str]] = defaultdict(set)
    for sample in samples:
        by_session[sample.agent_id, sample.session_id].append(sample)
        sessions[sample.agent_id].add(sample.session_id)
    with_added = {agent_id: find_sessions_with_added(agent_id, names) for agent_id, names in sessions.items()}
    for (agent_id, session_id), group in by_session.items():
        rules = Rules(
            find_spans=lambda text: detect.find_spans(text, detection.custom),
            hash_value=compute_value_hash,
            find_state=lambda kind, rule, name, place: cache.find_state(kind, rule, name, place.name, place.agent_id),
            added=read_added_in(agent_id, session_id) if session_id in with_added[agent_id] else [],
        )
        redactor = Redactor(rules)
        for sample in group:
            sample.privacy_checked = sample.contains_pii = sample.pii_redacted_content = None
            output, place = sample.output or "", Place(agent_id, find_place(sample))
            if len(sample.content) + len(output) > room:
                continue
            room -= len(sample.content) + len(output)
            redacted = _redact(redactor, sample.content, place)
            sample.privacy_checked = not has_unscanned(redacted + redactor.redact(output, place))
            if not sample.privacy_checked:
                continue
            sample.contains_pii = has_marker(redacted)
            if sample.contains_pii:
                encoded = TokenNumbers().encode(redacted.encode(errors="surrogatepass"))
                sample.pii_redacted_content = encoded.decode(errors="surrogatepass")
    return room


def _redact(redactor, content, place):
    """A content with markers; text by text where all of it together would take too long."""
    redacted = redactor.redact(content, place)
    try:
        return dump_json(redactor.redact_json(orjson.loads(content), place)) if has_unscanned(redacted) else redacted
    except orjson.JSONDecodeError:
        return redacted


def refresh(sample_ids: Iterable[str], room: float = MOST_IN_REQUEST) -> int:
    """Set the columns of stored samples anew, in bounded batches; return how many were read.

    A sample whose content changes meanwhile keeps its columns: who changes it refreshes it.
    """
    count = 0
    for batch in in_batches(sample_ids, BATCH):
        samples = list(DatasetSample.objects.filter(id__in=batch))
        room = _store_columns(samples, room)
        count += len(samples)
    return count


def _store_columns(samples, room):
    """Set the columns of samples that were just read, and store those that changed; return the rest of `room`."""
    before = [_read_columns(sample) for sample in samples]
    room = set_columns(samples, room)
    changed = [
        [*_read_columns(sample), sample.id, sample.content, sample.output]
        for sample, old in zip(samples, before, strict=True)
        if _read_columns(sample) != old
    ]
    if changed:
        with write_queue.global_transaction():
            statements.run_many(DEFAULT_DB_ALIAS, UPDATE, changed)
    return room


def refresh_judged(sample: DatasetSample) -> None:
    """Refresh a sample of a gate decision, whose content a verdict changes, and one whose reply was edited."""
    if sample.sample_type in GATE_TYPES or sample.output or not sample.privacy_checked:
        _store_columns([sample], MOST_IN_REQUEST)


def refresh_sessions(agent_id: str, session_ids: Collection[str], room: float = MOST_IN_REQUEST) -> int:
    """Refresh the samples of a few sessions of an agent; return how many."""
    parts = _read_samples(agent_id=agent_id, session_id__in=list(session_ids))
    return refresh(chain.from_iterable(parts), room)


def is_large(row: FindingVerdict) -> bool:
    """Whether a verdict concerns too many values, sessions or samples for one request."""
    if row.scope == FindingVerdict.Scope.RULE:
        values = FindingValue.objects.filter(rule=row.rule)
        if values[: MOST_VALUES + 1].count() > MOST_VALUES:
            return True
    room, characters = MOST_SAMPLES, MOST_IN_REQUEST
    for agent_id, db in _list_holders(row):
        sessions = next(_read_sessions(db, row), [])
        samples = DatasetSample.objects.filter(agent_id=agent_id, session_id__in=sessions)
        sizes = list(samples.values_list(Length("content"), flat=True)[: room + 1])
        room, characters = room - len(sizes), characters - sum(sizes)
        if room < 0 or characters < 0 or len(sessions) >= MOST_SESSIONS:
            return True
    return False


def follow(row: FindingVerdict, progress: Any = None, room: float = MOST_IN_REQUEST) -> int:
    """Refresh the samples of sessions that a verdict concerns; return how many. One on a rule sets its values' states.

    Raises what `progress.update` raises.
    """
    if row.scope == FindingVerdict.Scope.RULE:
        summary.follow_rule(row.rule)
    count = 0
    for agent_id, db in _list_holders(row):
        for sessions in _read_sessions(db, row):
            count += refresh_sessions(agent_id, sessions, room)
            _report(progress, count)
    return count


def refresh_all(progress: Any = None, **columns: Any) -> int:
    """Refresh every sample with these columns, in constant memory; return how many were read.

    Raises what `progress.update` raises.
    """
    count = 0
    for ids in _read_samples(**columns):
        count += refresh(ids, inf)
        _report(progress, count)
    return count


def find_outdated(most: int) -> Iterator[str]:
    """Yield samples whose columns do not follow from findings and verdicts, among the newest `most`."""
    rows = DatasetSample.objects.order_by("-created_at", "-id")
    for start in range(0, most, BATCH):
        samples = list(rows[start : min(start + BATCH, most)])
        before = [_read_columns(sample) for sample in samples]
        set_columns(samples, inf)
        yield from (sample.id for sample, old in zip(samples, before, strict=True) if _read_columns(sample) != old)
        if len(samples) < BATCH:
            return


def read_added_in(agent_id: str, session_id: str) -> list[tuple[str, str]]:
    """The values that people added in a session, as pairs of kind and value.

    At most 50.
    """
    return read_added(agent_id, session_id=session_id)[:MOST_ADDED] if session_id else []


def find_place(sample: DatasetSample) -> str:
    """The place of a sample's own texts, as verdicts on findings name it."""
    if sample.turn_number is None:
        return f"decision:{sample.decision_id}" if sample.decision_id else f"write:{sample.audit_id or ''}"
    return f"record:{sample.session_id}/{sample.turn_number}"


def _read_columns(sample):
    return [getattr(sample, name) for name in COLUMNS]


def _list_holders(row) -> Iterator[tuple[str, str]]:
    """The agents in whose texts a verdict may count, with the aliases of their files."""
    agents = Agent.objects.order_by("agent_id")
    if row.scope != FindingVerdict.Scope.RULE:
        held_by = FindingValueAgent.objects.filter(value_hash=row.value_hash)
        agents = agents.filter(agent_id__in=list(held_by.values_list("agent_id", flat=True)))
    for agent_id in agents.values_list("agent_id", flat=True):
        if db := databases.find_alias(agent_id):
            yield agent_id, db


def _read_sessions(db, row) -> Iterator[list[str]]:
    """The sessions with findings that a verdict may concern, each once, in parts."""
    columns = {"rule": row.rule} if row.scope == FindingVerdict.Scope.RULE else {"value_hash": row.value_hash}
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


def run_copy(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Have samples follow a verdict; return the counts as JSON-able values.

    Running it again applies what is in force then.
    """
    row = FindingVerdict.objects.filter(id=params["verdict"]).first()
    return _describe(follow(row, progress, inf) if row else 0)


def run_check(_params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Search samples that wait, or all by new rules, which are noted; return the counts as JSON-able values."""
    rules = read_version()
    count = refresh_all(progress, **({} if _is_outdated(rules) else {"privacy_checked": None}))
    KeyValue.objects.put(*NOTED, rules)
    return _describe(count)


def is_check_needed() -> bool:
    """Whether there are samples that wait, or were searched by other rules than those in force."""
    return DatasetSample.objects.exists() and (_is_outdated(read_version()) or count_waiting() > 0)


def _is_outdated(rules):
    noted = KeyValue.objects.filter(scope=NOTED[0], key=NOTED[1]).first()
    return noted is None or noted.value != rules


def count_waiting() -> int:
    """Count the samples that are not checked yet, at most 10,000: they are in no export."""
    return DatasetSample.objects.filter(privacy_checked=None)[:MOST_VALUES].count()


def is_under_way() -> bool:
    """Whether a job that sets columns of samples is queued or running."""
    jobs_of_kinds = jobs.find_by_kind([COPY, CHECK], state__in=(JobRun.State.QUEUED, JobRun.State.RUNNING))
    return any(rows.exists() for rows in jobs_of_kinds)


def _describe(count):
    return {"message": _("Samples searched: %(count)s.") % {"count": f"{count:,}"}, "samples": count}


COPY_JOB = Kind(
    run=run_copy,
    label=gettext_lazy("Apply a verdict on findings"),
    audit_text=gettext_lazy("started to apply a verdict on findings"),
    cancel_text=gettext_lazy("Exports follow the verdict; columns of some samples may not show it yet."),
)
CHECK_JOB = Kind(
    run=run_check,
    label=gettext_lazy("Search samples for personal data"),
    audit_text=gettext_lazy("started to search samples for personal data"),
    cancel_text=gettext_lazy("Samples already searched keep what was found; the next run begins again."),
    schedule=Schedule("schedule.findingsScanMinutes", MINUTE_MS, dict, is_check_needed),
)
