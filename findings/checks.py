"""The doctor's checks of findings: their texts, and how far scans have come."""

from collections.abc import Iterator

from django.db.models import Exists, Max, OuterRef
from django.utils.translation import gettext_lazy as _

from ledger.models import Session
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.sqlite import write_queue
from openclaw_web.sqlite.integrity import DAMAGED, DIFFERENT, Check

from . import finding_store, places, scan, table_scan, transcript_scan
from .detection import read_version
from .finding_store import SUMMED
from .models import Finding, FindingScan, Source
from .tables import BY_SOURCE, TABLES
from .transcript_documents import parse_prefix
from .transcript_scan import RECORD

SAMPLED, DEEPLY_SAMPLED = 200, 5_000  # findings whose text is read
CHUNK = 50
GONE = ngettext_lazy(
    "%(rows)s of %(place)s stands in a text that is not stored any more, and is removed by the next scan: %(named)s.",
    "%(rows)s of %(place)s stand in texts that are not stored any more, and are removed by the next scan: %(named)s.",
    "count",
)


def find_gone(db: str) -> Iterator[str]:
    """Yield findings whose session or row is not stored any more."""
    session = Session.objects.using(db).filter(id=OuterRef("session_id"))
    lost = Finding.objects.using(db).filter(~Exists(session), source=RECORD)
    for rows in (lost, *(table_scan.find_without_row(db, table) for table in TABLES)):
        yield from map(str, rows.order_by("id").values_list("id", flat=True).iterator())


def find_changed(db: str, most: int = SAMPLED) -> Iterator[str]:
    """Yield findings whose text has another value in their place, among `most` of them.

    The others are not read. Left out are findings that the next scan renews.
    """
    last = Finding.objects.using(db).aggregate(last=Max("id"))["last"] or 0
    step = max(1, last // most)
    waiting = transcript_scan.find_unscanned(db, read_version())
    for start in range(1, last + 1, step * CHUNK):
        ids = range(start, min(start + step * CHUNK, last + 1), step)
        for row in Finding.objects.using(db).filter(id__in=list(ids)).order_by("id"):
            if row.session_id not in waiting and _has_changed(db, row):
                yield str(row.id)


def _has_changed(db, row):
    has_text = places.read_document(db, row.source, row.source_id) is not None
    return has_text and places.read_value(db, row) is None


def rescan_changed(agent) -> int:
    """Scan the sources of changed findings again; return how many findings had changed."""
    ids = list(find_changed(agent.db, DEEPLY_SAMPLED))
    rows = Finding.objects.using(agent.db).filter(id__in=ids)
    changed = set(rows.order_by().values_list("source", "session_id").distinct())
    places_again = {(source, session_id if source == RECORD else "") for source, session_id in changed}
    _scan_again(agent, places_again)
    return len(ids)


def find_unsound_positions(db: str) -> Iterator[str]:
    """Yield sources whose position cannot have been written by a scan."""
    known = {Source.RECORD.value, SUMMED, *BY_SOURCE}
    for row in FindingScan.objects.using(db).order_by("id").iterator():
        is_number = row.position.removeprefix("-").isdecimal()
        fits = str(parse_prefix(row.fingerprint)) == row.fingerprint or not row.fingerprint
        if not is_number or row.source not in known or (row.source == RECORD and not fits):
            yield f"{row.source} {row.session_id}".rstrip()


def rescan_unsound(agent) -> int:
    """Scan the sources with unsound positions again; return how many there were."""
    names = list(find_unsound_positions(agent.db))
    pairs = {(source, session_id) for source, _blank, session_id in (name.partition(" ") for name in names)}
    _scan_again(agent, pairs)
    return len(names)


def _scan_again(agent, pairs):
    with write_queue.agent_transaction(agent.db):
        unknown = [pair for pair in pairs if pair[0] not in {Source.RECORD.value, SUMMED, *BY_SOURCE}]
        for source, session_id in unknown:
            FindingScan.objects.using(agent.db).filter(source=source, session_id=session_id).delete()
        known = pairs - set(unknown)
        finding_store.save_positions(agent.db, dict.fromkeys(known, finding_store.REPLACED))
    scan.scan_agent(agent.db)


CHECKS = (
    Check(name="findings_gone", sentence=GONE, noun="findings", find=find_gone, is_note=True),
    Check(
        name="findings_changed",
        sentence=DIFFERENT,
        noun="findings",
        target=_("the texts"),
        find=find_changed,
        find_deep=lambda db: find_changed(db, DEEPLY_SAMPLED),
        repair=rescan_changed,
        is_last=True,
    ),
    Check(
        name="findings_positions",
        sentence=DAMAGED,
        noun="scan positions",
        find=find_unsound_positions,
        repair=rescan_unsound,
        is_last=True,
    ),
)
