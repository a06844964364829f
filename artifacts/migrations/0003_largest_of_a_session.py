from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("artifacts", "0002_artifact_lists")]

    operations = [
        migrations.AddIndex(
            "artifact",
            models.Index(
                fields=["session_id", "chars", "handle"],
                name="idx_artifacts_largest",
                condition=models.Q(record_id__isnull=False),
            ),
        ),
    ]
