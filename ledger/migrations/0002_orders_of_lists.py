from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ledger", "0001_initial")]

    operations = [
        migrations.AddIndex(
            "session", models.Index(fields=["model", "last_activity_at", "id"], name="idx_session_model")
        ),
        migrations.AddIndex("session", models.Index(fields=["created_at", "id"], name="idx_session_started")),
        migrations.AddIndex("session", models.Index(fields=["cost_usd", "id"], name="idx_session_cost")),
        migrations.AddIndex("session", models.Index(fields=["total_tokens", "id"], name="idx_session_tokens")),
        migrations.AddIndex("session", models.Index(fields=["error_count", "id"], name="idx_session_errors")),
        migrations.AddIndex("session", models.Index(fields=["turn_count", "id"], name="idx_session_turns")),
        migrations.AddIndex("transcriptevent", models.Index(fields=["created_at"], name="idx_event_created")),
    ]
