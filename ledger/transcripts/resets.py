"""Places where a session begins anew under its id: resets, and records that follow none (after a second header).

Messages before such a place are in no context of the messages after it.
"""

from collections.abc import Sequence

from openclaw_web.sqlite import statements

# By the type in the source: a withheld record has lost its kind. A record that follows none is behind its place,
# unless it is a note: no question, and the next record does not follow it.
RESETS = (
    "SELECT e.session_id, e.seq - (e.event_type <> 'reset'), e.is_active FROM transcript_events e"
    " WHERE (e.event_type = 'reset' OR e.parent_id IS NULL) AND (e.event_type = 'reset' OR e.seq > 1"
    " AND (e.kind = 'user' OR e.event_id = (SELECT n.parent_id FROM transcript_events n"
    " WHERE n.session_id = e.session_id AND n.seq > e.seq ORDER BY n.seq LIMIT 1)))"
    " AND e.event_type <> 'session' AND e.event_id IS NOT NULL AND e.session_id IN ({marks})"
    " ORDER BY e.session_id, e.seq"
)
BEGINNING = -1  # before every record
BATCH = 500


def list_resets(db: str, session_id: str) -> list[tuple[int, bool]]:
    """Places of a session's resets in order, and whether each is on the active branch."""
    rows = statements.read_rows(db, RESETS.format(marks="%s"), [session_id])
    return [(seq, bool(is_active)) for _id, seq, is_active in rows]


def list_active_resets(db: str, session_ids: Sequence[str]) -> dict[str, list[int]]:
    """Places of resets on the active branch, in order, by session.

    Sessions without any are left out.
    """
    resets: dict[str, list[int]] = {}
    for start in range(0, len(session_ids), BATCH):
        batch = list(session_ids[start : start + BATCH])
        for session_id, seq, is_active in statements.read_rows(
            db, RESETS.format(marks=", ".join(["%s"] * len(batch))), batch
        ):
            if is_active:
                resets.setdefault(session_id, []).append(seq)
    return resets


def find_last_before(resets: Sequence[int], seq: int) -> int:
    """The last of these places before `seq`; BEGINNING when there is none."""
    return max((place for place in resets if place < seq), default=BEGINNING)
