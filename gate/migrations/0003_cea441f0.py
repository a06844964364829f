from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('gate', '0002_5f62b48d'),
    ]

    operations = [
        # As Django's AddField writes the column, which would copy the whole table.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL('ALTER TABLE "memory_gate_decisions" ADD COLUMN "named_turn_id" text NULL')
            ],
            state_operations=[
                migrations.AddField(
                    model_name='memorygatedecision',
                    name='named_turn_id',
                    field=models.TextField(null=True),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name='memorygatedecision',
            index=models.Index(condition=models.Q(('named_turn_id__isnull', False)), fields=['created_at'], name='idx_gate_named'),
        ),
    ]
