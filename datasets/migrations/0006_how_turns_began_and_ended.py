from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0005_samples_by_type")]

    operations = [
        migrations.AddField(
            model_name="datasetsample",
            name="prompted_by",
            field=models.TextField(
                help_text="which prompt of OpenClaw's own, or `silent`; empty: a person's; null: not known yet",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="datasetsample",
            name="reply_stop",
            field=models.TextField(
                help_text="the stop reason recorded with the reply; empty: none; null: not known yet",
                null=True,
            ),
        ),
    ]
