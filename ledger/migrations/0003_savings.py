from django.db import migrations, models

import openclaw_web.sqlite.fields

SUMS = [
    ("date", models.TextField(help_text="YYYY-MM-DD, UTC")),
    ("tool", models.TextField(help_text="empty when the record does not say")),
    ("channel_id", models.TextField(help_text="of the session when its first records came")),
    ("call_count", openclaw_web.sqlite.fields.Count(default=0)),
    ("result_count", openclaw_web.sqlite.fields.Count(default=0)),
    ("failed_count", openclaw_web.sqlite.fields.Count(default=0)),
    ("chars", openclaw_web.sqlite.fields.Count(default=0, help_text="of all results")),
    ("stashed_count", openclaw_web.sqlite.fields.Count(default=0, help_text="results' texts that are artifacts")),
    ("stashed_chars", openclaw_web.sqlite.fields.Count(default=0, help_text="of these, whole")),
    ("kept_chars", openclaw_web.sqlite.fields.Count(default=0, help_text="of what would stay of them: preview, summary, handle")),
    (
        "carried_chars",
        openclaw_web.sqlite.fields.Count(
            default=0, help_text="what would be saved, once for each later model call that read it again"
        ),
    ),
    (
        "prompt_tokens",
        openclaw_web.sqlite.fields.Count(default=0, help_text="what model calls read; counted in the row without a tool"),
    ),
]


def key(*names):
    """The primary key of a table of sums."""
    return "pk", models.CompositePrimaryKey(*names, blank=True, editable=False, primary_key=True, serialize=False)


class Migration(migrations.Migration):
    dependencies = [("ledger", "0002_orders_of_lists")]

    operations = [
        migrations.AddField(
            "conversationturn",
            "prompt_tokens",
            openclaw_web.sqlite.fields.Count(null=True, help_text="the prompt of its biggest model call; null: none is known"),
        ),
        migrations.AddIndex(
            "conversationturn",
            models.Index(
                fields=["created_at", "prompt_tokens"],
                name="idx_turn_prompt",
                condition=models.Q(is_active=True, prompt_tokens__gt=0),
            ),
        ),
        migrations.CreateModel(
            "SessionTool",
            fields=[
                *SUMS,
                key("session_id", "date", "tool"),
                ("session", models.ForeignKey("ledger.Session", models.CASCADE, db_index=False, related_name="tools")),
                (
                    "open_chars",
                    openclaw_web.sqlite.fields.Count(default=0, help_text="what would be saved of each model call from here on"),
                ),
            ],
            options={"db_table": "session_tools"},
        ),
        migrations.CreateModel(
            "ToolDay", fields=[*SUMS, key("date", "tool", "channel_id")], options={"db_table": "tool_days"}
        ),
    ]
