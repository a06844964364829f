from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ledger", "0003_savings")]

    operations = [
        migrations.RemoveIndex("conversationturn", "idx_created_at"),
        migrations.AddIndex("conversationturn", models.Index(fields=["created_at"], name="idx_created_at")),
        migrations.AlterField(
            "transcriptevent",
            "full_zstd",
            models.BinaryField(null=True, help_text="the rests of the texts that are capped"),
        ),
    ]
