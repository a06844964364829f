import openclaw_web.sqlite.fields
from django.db import migrations, models


def key(*names):
    return ("pk", models.CompositePrimaryKey(*names, blank=True, editable=False, primary_key=True, serialize=False))


class Migration(migrations.Migration):
    dependencies = [("ledger", "0004_smaller_store")]
    operations = [
        migrations.CreateModel(
            name="TrajectoryEvent",
            fields=[
                (
                    "id",
                    models.TextField(
                        primary_key=True, serialize=False, help_text="made of session, run, type, time and seq"
                    ),
                ),
                ("session_id", models.TextField()),
                ("seq", openclaw_web.sqlite.fields.Count(help_text="within one attempt of a run")),
                ("run_id", models.TextField(default="")),
                (
                    "type",
                    models.TextField(help_text="session.started, context.compiled, tool.call, model.completed, ..."),
                ),
                ("created_at", openclaw_web.sqlite.fields.EpochMs(null=True)),
                ("about_json", models.TextField(default="{}")),
            ],
            options={
                "db_table": "trajectory_events",
                "indexes": [models.Index(fields=["session_id", "created_at", "seq"], name="idx_trajectory_session")],
            },
        ),
        migrations.CreateModel(
            name="IndexedFile",
            fields=[
                key("database", "source", "path"),
                ("database", models.TextField(help_text="relative to the home")),
                ("source", models.TextField(help_text="memory or sessions")),
                ("path", models.TextField()),
                ("size_bytes", openclaw_web.sqlite.fields.Count(null=True)),
                ("modified_at", openclaw_web.sqlite.fields.EpochMs(null=True)),
                ("chunk_count", openclaw_web.sqlite.fields.Count(default=0)),
            ],
            options={"db_table": "indexed_files"},
        ),
        migrations.CreateModel(
            name="VfsEntry",
            fields=[
                key("namespace", "path"),
                ("namespace", models.TextField()),
                ("path", models.TextField()),
                ("kind", models.TextField(default="")),
                ("bytes", openclaw_web.sqlite.fields.Count(null=True)),
                (
                    "handle",
                    models.TextField(
                        null=True, help_text="of the artifact that holds the content; null: a folder, or not kept"
                    ),
                ),
                ("updated_at", openclaw_web.sqlite.fields.EpochMs(null=True)),
            ],
            options={"db_table": "vfs_entries"},
        ),
    ]
