"""Names the groups of failed calls that were stored without one, such as those of an archive."""

from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements
from openclaw_web.sqlite.json_columns import decode

from ..collectors.records import read_facts
from ..transcripts.trimming import untrim
from . import messages

MISSING = "SELECT session_id, seq FROM transcript_events WHERE is_failed AND NOT is_synthetic AND error_group IS NULL"
READ = "SELECT event_json, full_zstd, trim_json FROM transcript_events WHERE session_id = %s AND seq = %s"
FILL = "UPDATE transcript_events SET error_group = %s WHERE session_id = %s AND seq = %s"


def fill_groups(db: str, session_id: str = "") -> None:
    """Name the groups of the records that have none, of one session or of all."""
    condition = " AND session_id = %s" if session_id else ""
    places = statements.read_rows(db, f"{MISSING}{condition}", [session_id] if session_id else [])
    statements.run_many(db, FILL, [(find_group(db, *place).id, *place) for place in places])


def find_group(db: str, session_id: str, seq: int) -> messages.ErrorGroup:
    """The group of a stored record."""
    row = statements.read_row(db, READ, [session_id, seq])
    try:
        record = untrim(*row) if row else {}
    except (Refused, ValueError):  # an output whose artifact is gone: its beginning is in the row
        record = decode(row[0]) if row else {}
    return messages.find_group(read_facts(record)) or messages.UNKNOWN
