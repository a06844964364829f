import json
import secrets
import time
from datetime import UTC, datetime

from django.db import migrations

from episodes.chain import hashes

COLUMNS = (
    "id, event_id, ts_ms, scope, session_id, agent_id, type, schema_version, created_at, summary, payload_json, redacted,"
    " salt, content_hash, chain_hash"
)


def count_redactions(apps, schema_editor):
    """Append one event that counts and names the redacted rows: redactions from now on have events of their own."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND lower(name) = 'episodic_events'")
        if not cursor.fetchone():  # an operator dropped it
            return
        cursor.execute("SELECT id FROM episodic_events WHERE redacted = 1 ORDER BY id")
        ids = [row_id for (row_id,) in cursor.fetchall()]
        cursor.execute(
            "SELECT max(id), chain_hash FROM (SELECT id, chain_hash FROM episodic_events"
            " UNION ALL SELECT last_id, chain_after FROM episode_gaps)"
        )
        last_id, previous = cursor.fetchone()
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = 'episodic_events'")
        (given_out,) = cursor.fetchone() or (0,)
        # The end of a damaged ledger takes no event; verification names the damage.
        if not ids or type(last_id) is not int or type(previous) is not bytes or type(given_out) is not int:
            return
        row_id, now = max(last_id, given_out) + 1, time.time_ns() // 1_000_000
        created_at = datetime.fromtimestamp(now / 1000, UTC).isoformat()
        linked = (
            *(f"redaction-{secrets.token_hex(13)}", now, "global", "episodes-retention", "openclaw-web"),
            *("ops.observation", "openclaw-mem.episodic.v0", created_at),
        )
        summary = f"Redactions had removed the texts of {len(ids)} events before they had events of their own"
        payload = json.dumps({"redacted_count": len(ids), "redacted_ids": ids}, separators=(",", ":"))
        salt = hashes.make_salt()
        content_hash = hashes.hash_content(salt, summary, payload, None)
        chain_hash = hashes.hash_link(previous, row_id, linked, content_hash)
        marks = ", ".join(["%s"] * len(COLUMNS.split(",")))
        cursor.execute(
            f"INSERT INTO episodic_events ({COLUMNS}) VALUES ({marks})",
            [row_id, *linked, summary, payload, 0, salt, content_hash, chain_hash],
        )


class Migration(migrations.Migration):

    dependencies = [
        ('episodes', '0001_248939ef'),
    ]

    operations = [
        migrations.RunPython(count_redactions, migrations.RunPython.noop, elidable=False),
    ]
