import time

from django.db import migrations, models


def review_rolled_back(apps, schema_editor):
    """Queue the job that sends samples of writes that were rolled back to review, where there may be any."""
    samples = apps.get_model("datasets", "DatasetSample").objects
    approved = samples.filter(annotation_status__in=["approved", "auto_approved"], audit_id__isnull=False)
    if approved.exists():
        apps.get_model("jobs", "JobRun").objects.create(
            id="rolled-back-samples", kind="rolled_back_samples", started_by="schedule", created_at=int(time.time() * 1000)
        )


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0006_2564f5a6'),
        ('jobs', '0001_4a531887'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(condition=models.Q(('gate_label__in', ['corrected', 'incorrect'])), fields=['annotation_status', 'created_at', 'id'], name='idx_status_wrong'),
        ),
        migrations.RunPython(review_rolled_back, migrations.RunPython.noop, elidable=False),
    ]
