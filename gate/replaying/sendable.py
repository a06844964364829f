"""Which stored windows may be sent today: those of which nobody who spoke has opted out by now."""

from collections.abc import Collection

from ..models import MemoryGateDecision
from ..recording import consent, speakers, windows


def withheld(db: str, decisions: Collection[MemoryGateDecision]) -> set[str]:
    """Ids of those of these decisions whose windows may not be sent; none while nobody has opted out.

    Read of each are `turn_id`, `match` and `window_hash`.
    """
    if not consent.opted_out():
        return set()
    return speakers.withheld(db, ((row, windows.read(db, row.window_hash)) for row in decisions))
