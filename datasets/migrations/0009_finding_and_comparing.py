from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0008_signatures")]

    operations = [
        migrations.RemoveIndex(model_name="datasetsample", name="idx_sample_place"),
        migrations.AddIndex(
            model_name="datasetsample",
            index=models.Index(
                fields=[
                    *("agent_id", "session_id", "turn_number", "id"),
                    *("sample_type", "annotation_status", "prompted_by", "reply_stop", "quality_score", "turn_traits"),
                ],
                name="idx_sample_place",
            ),
        ),
        migrations.AddIndex(
            model_name="datasetsample",
            index=models.Index(fields=["prompted_by", "created_at", "id"], name="idx_sample_prompted"),
        ),
        migrations.AddIndex(
            model_name="datasetsample",
            index=models.Index(
                fields=["annotation_status", "prompted_by", "created_at", "id"], name="idx_status_prompted"
            ),
        ),
        migrations.AddIndex(
            model_name="datasetsample",
            index=models.Index(
                fields=["agent_id", "annotation_status", "prompted_by", "created_at", "id"],
                name="idx_sample_agent_prompted",
            ),
        ),
        migrations.AddIndex(
            model_name="datasetsample",
            index=models.Index(
                condition=models.Q(("reply_stop__in", ("aborted", "error", "length", "max_tokens"))),
                fields=["created_at", "id"],
                name="idx_sample_cut_off",
            ),
        ),
        migrations.AddIndex(
            model_name="datasetsample",
            index=models.Index(
                condition=models.Q(("reply_stop__in", ("aborted", "error", "length", "max_tokens"))),
                fields=["annotation_status", "created_at", "id"],
                name="idx_status_cut_off",
            ),
        ),
        migrations.AddField(
            model_name="datasetexport",
            name="places_json",
            field=models.TextField(help_text="where rows begin in its file, to find any of them", null=True),
        ),
        migrations.AddField(
            model_name="datasetexport",
            name="difference_json",
            field=models.TextField(help_text="compared with the export before; null: not yet", null=True),
        ),
    ]
