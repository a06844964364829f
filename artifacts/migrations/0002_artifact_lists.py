from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("artifacts", "0001_initial")]

    operations = [
        # What the index of handles alone was for, this one serves as well.
        migrations.RemoveIndex("artifact", "idx_artifacts_handle"),
        migrations.AddIndex(
            "artifact", models.Index(fields=["handle", "created_at", "id"], name="idx_artifacts_uses")
        ),
        migrations.AddIndex("artifact", models.Index(fields=["bytes", "id"], name="idx_artifacts_size")),
    ]
