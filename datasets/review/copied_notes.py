"""Notes that one person wrote and another one's verdict repeated, because the box for notes used to begin with them.

Verdicts are evidence and stay as they are. These rows are shown once, so that nobody is taken at words of others.
"""

from dataclasses import dataclass

import orjson
from django.db import DEFAULT_DB_ALIAS

from openclaw_web import clock
from openclaw_web.sqlite import statements, words
from people.models.kept import KeyValue

SCOPE, KEY = "review", "copied_notes_listed"
MOST = 1_000
# Until this migration every box began with the last note: a later note that says the same was typed.
BEFORE = f"""SELECT MIN({words.epoch_seconds("applied")}) * 1000 FROM django_migrations
    WHERE app = 'datasets' AND name LIKE '%%drafts_and_reasons'"""  # noqa: S608 - our own words
# What the box began with is in `before_json`; verdicts older than that column follow the one before them.
WRITTEN_BY = f"COALESCE({words.json_text('own.before_json', 'annotated_by')}, before.labelled_by)"
NOTES = f"COALESCE({words.json_text('own.before_json', 'annotation_notes')}, before.notes)"
ROWS = f"""SELECT own.sample_id, {WRITTEN_BY}, own.labelled_by, own.notes
FROM sample_labels own LEFT JOIN sample_labels before ON own.before_json IS NULL AND before.id = (
    SELECT id FROM sample_labels earlier WHERE earlier.sample_id = own.sample_id
    AND (earlier.labelled_at, earlier.id) < (own.labelled_at, own.id) ORDER BY labelled_at DESC, id DESC LIMIT 1)
WHERE own.notes <> '' AND own.undoes IS NULL AND own.bulk_id IS NULL AND own.labelled_at < ({BEFORE})
    AND {NOTES} = own.notes AND {WRITTEN_BY} <> own.labelled_by
ORDER BY own.labelled_at, own.id LIMIT {MOST}"""  # noqa: S608 - our own words


@dataclass(frozen=True, slots=True)
class CopiedNote:
    """A verdict of `labelled_by` that says what `written_by` had noted on the same sample."""

    sample_id: str
    written_by: str
    labelled_by: str
    notes: str


def unlisted() -> list[CopiedNote]:
    """The first MOST of them, the oldest first; none once they were listed."""
    if KeyValue.objects.filter(scope=SCOPE, key=KEY).exists():
        return []
    return [CopiedNote(*row) for row in statements.rows(DEFAULT_DB_ALIAS, ROWS)]


def mark_listed() -> None:
    """Remember that they were put on a receipt."""
    now = clock.now_ms()
    value = orjson.dumps(now).decode()
    KeyValue.objects.update_or_create(scope=SCOPE, key=KEY, defaults={"value_json": value, "updated_at": now})
