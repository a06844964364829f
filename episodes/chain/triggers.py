"""Triggers that keep the ledger append-only, whoever opens the file.

They are no part of a migration: SQLite forgets them when a table is made again. `install` puts them in place after
every migration of an agent's file, and `find_wrong` compares them with what they have to be.
"""

from django.utils.translation import gettext as _

from openclaw_web.errors import UserFacingError
from openclaw_web.sqlite import dialect, inspection, statements

from ..models import REDACTED, REDACTED_JSON, EpisodeGap, EpisodeHead, EpisodeRun, EpisodicEvent

TABLE = EpisodicEvent._meta.db_table
TABLES = [model._meta.db_table for model in (EpisodicEvent, EpisodeGap, EpisodeHead, EpisodeRun)]
REDACTED_COLUMNS = {"summary", "payload_json", "refs_json", "redacted", "salt"}
COLUMNS = [field.column for field in EpisodicEvent._meta.concrete_fields]
KEPT_BY_REDACTION = [name for name in COLUMNS if name not in REDACTED_COLUMNS]
TRIGGERS = {
    "episodic_events_insert": f"""CREATE TRIGGER episodic_events_insert BEFORE INSERT ON {TABLE}
WHEN EXISTS (SELECT 1 FROM {TABLE} WHERE id = NEW.id OR event_id = NEW.event_id)
    OR (NEW.id > 0 AND NEW.id <= (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '{TABLE}'))
    OR NEW.id >= {inspection.LARGEST_NUMBER}
{dialect.refuse("episodic_events is append-only: this event exists, or was removed", is_row_absent=True)}""",  # noqa: S608 - constants
    "episodic_events_update": f"""CREATE TRIGGER episodic_events_update BEFORE UPDATE ON {TABLE}
WHEN NOT (OLD.redacted = 0 AND NEW.redacted = 1 AND NEW.summary = '{REDACTED}' AND NEW.refs_json IS NULL
    AND (NEW.payload_json IS NULL OR NEW.payload_json = '{REDACTED_JSON}') AND NEW.salt IS NULL
    AND {" AND ".join(f"NEW.{name} IS OLD.{name}" for name in KEPT_BY_REDACTION)})
{dialect.refuse("episodic_events is append-only: a row can only be redacted")}""",
    "episodic_events_delete": f"""CREATE TRIGGER episodic_events_delete BEFORE DELETE ON {TABLE}
WHEN NOT EXISTS (SELECT 1 FROM episode_runs WHERE is_open AND scope = OLD.scope AND type = OLD.type
    AND before_ms > OLD.ts_ms)
{dialect.refuse("episodic_events is append-only: only a retention run removes events")}""",  # noqa: S608 - constants
}


class TriggersMissing(UserFacingError):
    """The ledger of an agent is not protected against changes."""

    status = 503
    is_of_store = True


def find_wrong(db: str) -> list[str]:
    """Return the names of triggers that are missing, differ, or are none of ours.

    An operator may have dropped the table; then there are none. A view in its place has none of ours.
    """
    kind = inspection.read_kind(db, TABLE)
    if not kind:
        return []
    stored = inspection.read_parts(db, "trigger", TABLES) if kind == "table" else {}
    return sorted(name for name in TRIGGERS.keys() | stored.keys() if stored.get(name) != TRIGGERS.get(name))


def install(db: str) -> None:
    """Create the triggers of an agent's file again. Raises TriggersMissing when they are not there afterwards."""
    is_table = inspection.read_kind(db, TABLE) == "table"
    for name in find_wrong(db):
        statements.run(db, f'DROP TRIGGER IF EXISTS "{name.replace(chr(34), chr(34) * 2)}"')
        if name in TRIGGERS and is_table:
            statements.run(db, TRIGGERS[name])
    if wrong := find_wrong(db):
        raise TriggersMissing(
            _("Triggers of the ledger could not be created: %(names)s.") % {"names": ", ".join(wrong)}
        )
