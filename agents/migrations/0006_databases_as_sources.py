from django.db import migrations, models

KINDS = (
    ("agent", "Agent"),
    ("transcript", "Transcript"),
    ("session_index", "Session Index"),
    ("cron_jobs", "Cron Jobs"),
    ("cron_runs", "Cron Runs"),
    ("subagent_runs", "Subagent Runs"),
    ("workspace_file", "Workspace File"),
    ("database", "Database"),
)


class Migration(migrations.Migration):
    dependencies = [("agents", "0005_audit_by_time")]
    operations = [
        migrations.AlterField(
            model_name="collectorsource", name="kind", field=models.TextField(choices=list(KINDS))
        )
    ]
