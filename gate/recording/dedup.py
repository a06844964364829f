"""One event that two sources told of: found by session, time and words, and made one row."""

from functools import partial

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.sqlite.fields import get_reported_fields

from ..models import MemoryGateDecision
from . import sql
from .reports import RANK, Match, Origin, Report

DUPLICATE_MS = 2_000  # between two reports of one event
REPORTED = [field.attname for field in get_reported_fields(MemoryGateDecision)]


class Conflict(Refused):
    """Ids that were used for other decisions."""

    status = 409

    def __init__(self, ids):
        sentence = _("There already is another decision with this ID. Nothing was stored.")
        super().__init__(sentence, reasons=[{"id": name, "reason": sentence} for name in ids])


def find_duplicates(db: str, fresh: list[Report]) -> dict[str, MemoryGateDecision]:
    """By key, the row of the same event that another source told of; each row is the twin of one at most.

    Raises Conflict when a row has the id of one, and is another event.
    """
    if not fresh or fresh[0].row.origin == Origin.OWN:
        return {}
    found = _by_id(db, fresh)
    near = sql.find_nearby_ids(db, _spans(fresh), {one.row.reason for one in fresh}, fresh[0].source)
    rows = MemoryGateDecision.objects.using(db).defer("raw_response").filter(id__in=near)
    others = rows.order_by("created_at") if near else []
    left = [row for row in others if row.id not in {twin.id for twin in found.values()}]
    for one in fresh:
        twins = [row for row in left if one.key not in found and _is_same_event(row, one)]
        if twins:
            found[one.key] = min(twins, key=partial(_distance, one))
            left.remove(found[one.key])
    return found


def _spans(fresh):
    """The stretches of time in which twins may be, none of which overlap."""
    found: list[list[int]] = []
    for moment in sorted(one.row.created_at for one in fresh):
        if found and moment - DUPLICATE_MS <= found[-1][1]:
            found[-1][1] = moment + DUPLICATE_MS
        else:
            found.append([moment - DUPLICATE_MS, moment + DUPLICATE_MS])
    return found


def _by_id(db, fresh):
    """Rows that have the very ids: a database told of them, and now somebody else does."""
    ids = sql.find_stored_ids(db, [one.key for one in fresh])
    found = MemoryGateDecision.objects.using(db).in_bulk(ids) if ids else {}
    clashes = [one.key for one in fresh if one.key in found and not _says_the_same(found[one.key], one.row)]
    if clashes:
        raise Conflict(clashes)
    return found


def _distance(one, row):
    return abs(row.created_at - one.row.created_at)


def _says_the_same(row, told):
    return (row.decision, row.reason) == (told.decision, told.reason)


def _is_same_event(row, one):
    if abs(row.created_at - one.row.created_at) > DUPLICATE_MS:
        return False
    if Origin.OWN in (row.origin, one.row.origin):
        return False
    if not _says_the_same(row, one.row):
        return False
    ours = {row.session_id, row.session_key, row.turn_id} - {None}
    theirs = {one.row.session_id, one.row.session_key, one.row.turn_id, one.other_key} - {None}
    return not ours.isdisjoint(theirs)


def merge_report(row: MemoryGateDecision, one: Report) -> None:
    """Let a row know what another source knows of the same event."""
    told = one.row
    is_better = RANK[told.origin] < RANK[row.origin]
    for name in REPORTED:
        value = getattr(told, name)
        if value is not None and (is_better or getattr(row, name) is None):
            setattr(row, name, value)
    if told.turn_id and row.turn_id == told.turn_id:
        row.session_id = told.session_id
        row.match = Match.GIVEN if Match.GIVEN in (row.match, told.match) else told.match
    if is_better:
        row.origin = told.origin
    if one.window and (row.window_hash is None or row.is_window_derived):
        row.window_hash, row.is_window_derived = one.window.hash, one.is_window_derived
    row.sources |= one.source
