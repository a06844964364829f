"""One write that several sources told of: found by file, fact and time, and made one row."""

from collections.abc import Collection, Sequence

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.sqlite.fields import get_reported_fields

from ..models import WriteGuardianAudit
from . import sql
from .reports import CHANGED, RANK, Report, Source, Status

DUPLICATE_MS = 2_000  # between two reports of one write
AT_ONCE = 500
REPORTED = [field.attname for field in get_reported_fields(WriteGuardianAudit)]


class Conflict(Refused):
    """Ids that were used for other writes."""

    status = 409

    def __init__(self, ids):
        sentence = _("Another write has this ID. Nothing was stored.")
        super().__init__(sentence, reasons=[{"id": name, "reason": sentence} for name in ids])


def find_duplicates(db: str, fresh: Sequence[Report], stored: Collection[str]) -> dict[str, WriteGuardianAudit]:
    """By key, the row of the same write that another source told of; each row is the twin of one at most.

    `stored` are the keys that are ids of rows.

    Raises Conflict when a row has the id of one, and is another write.
    """
    told = [one for one in fresh if one.source in RANK]
    audits = WriteGuardianAudit.objects.using(db)
    found = {row.id: row for row in _listed(audits, [one.key for one in fresh if one.key in stored])}
    clashes = [one.key for one in fresh if one.key in found and not _may_tell_of(found[one.key], one)]
    if clashes:
        raise Conflict(clashes)
    taken = set(found)
    for one in sorted(told, key=lambda one: one.row.created_at):
        if one.key in found:
            continue
        twins = [row for row in _near(db, one) if row.id not in taken and _says_the_same(row, one)]
        if twins:
            at = one.row.created_at
            found[one.key] = min(twins, key=lambda row: (abs(row.created_at - at), row.id))
            taken.add(found[one.key].id)
    return found


def _near(db, one):
    """The writes of its fact around its time, whatever each calls the session: a log knows none."""
    name, fact, at = one.row.target_file, one.row.candidate_fact, one.row.created_at
    if not fact:
        return []
    ids = sql.find_nearby_ids(
        db, since=at - DUPLICATE_MS, until=at + DUPLICATE_MS, name=name, fact=fact, source=one.source
    )
    return WriteGuardianAudit.objects.using(db).filter(id__in=ids) if ids else []


def _listed(audits, ids):
    for start in range(0, len(ids), AT_ONCE):
        yield from audits.filter(id__in=ids[start : start + AT_ONCE])


def _may_tell_of(row, one):
    """Whether one can be told of the row that has its id: never of what this site did itself."""
    return not row.sources & Source.OWN and _says_the_same(row, one)


def _says_the_same(row, one):
    facts = {row.candidate_fact, one.row.candidate_fact} - {None, ""}
    is_same_end = (row.status in CHANGED) == (one.row.status in CHANGED) and (
        row.status in CHANGED or row.status == one.row.status
    )
    return row.target_file == one.row.target_file and is_same_end and len(facts) < 2


def rank_sources(sources: int) -> int:
    """How well a write is known: the lower the better."""
    return next((place for place, source in enumerate(RANK) if sources & source), len(RANK))


def merge_report(row: WriteGuardianAudit, one: Report) -> None:
    """Let a row know what another source knows of the same write; the better source's word counts."""
    told = one.row
    is_better = rank_sources(one.source) < rank_sources(row.sources)
    for name in REPORTED:
        value = getattr(told, name)
        if value is not None and (is_better or getattr(row, name) is None):
            setattr(row, name, value)
    if told.turn_id and row.turn_id == told.turn_id:
        row.match = told.match if is_better or row.match == "none" else row.match
    if is_better:
        row.created_at, row.origin = told.created_at, told.origin
    if told.status == Status.ROLLED_BACK:
        row.status = Status.ROLLED_BACK
    row.sources |= one.source | told.sources
