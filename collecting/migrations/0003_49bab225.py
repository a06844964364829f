import time

from django.db import migrations


def queue_reading(apps, schema_editor):
    """Queue the job that reads sessions again whose turns were made by other rules, where there may be any."""
    if apps.get_model("agents", "Agent").objects.exists():
        apps.get_model("jobs", "JobRun").objects.create(
            id="read-again-3", kind="read_again", started_by="schedule", created_at=int(time.time() * 1000)
        )


class Migration(migrations.Migration):

    dependencies = [
        ('collecting', '0002_49bab225'),
        ('agents', '0001_b69fb2be'),
        ('jobs', '0001_4a531887'),
    ]

    operations = [
        migrations.RunPython(queue_reading, migrations.RunPython.noop, elidable=False),
    ]
