"""Gaps: what is left of neighbouring events that a retention run removed."""

from collections.abc import Iterable

from openclaw_web.sqlite import statements

from ..models import EpisodeGap, EpisodeHead
from .hashes import hash_gaps

GAPS = "SELECT first_id, last_id, count, lower(hex(chain_before)), lower(hex(chain_after)) FROM episode_gaps ORDER BY 1"


def add_removed(db: str, removed: Iterable[tuple[int, bytes, bytes]]) -> None:
    """Add removed events to the gaps; the caller has a transaction.

    `removed` are the number of each event, in order, and the values of the chain before and after it. Neighbouring
    gaps become one, but never across a head that was given out.
    """
    heads = set(EpisodeHead.objects.using(db).values_list("last_id", flat=True))
    gap: EpisodeGap | None = None
    for row_id, before, after in removed:
        if gap is None or gap.last_id + 1 != row_id or gap.last_id in heads:
            _store(db, gap, heads)
            gap = EpisodeGap(first_id=row_id, last_id=row_id, count=0, chain_before=before, chain_after=after)
        gap.last_id, gap.chain_after, gap.count = row_id, after, gap.count + 1
    _store(db, gap, heads)


def read_gaps_hash(db: str) -> str:
    """Return the hash of all gaps of a ledger.

    The event of each retention run carries it.
    """
    return hash_gaps(statements.read_rows(db, GAPS))


def _store(db, gap, heads):
    """Store a gap, joined with its neighbours."""
    if gap is None:
        return
    rows = EpisodeGap.objects.using(db)
    earlier = rows.filter(last_id=gap.first_id - 1).exclude(last_id__in=heads).first()
    later = rows.filter(first_id=gap.last_id + 1).first() if gap.last_id not in heads else None
    if earlier:
        gap.first_id, gap.chain_before, gap.count = earlier.first_id, earlier.chain_before, earlier.count + gap.count
    if later:
        gap.last_id, gap.chain_after, gap.count = later.last_id, later.chain_after, later.count + gap.count
    rows.filter(first_id__in=[other.first_id for other in (earlier, later) if other]).delete()
    gap.save(using=db, force_insert=True)
