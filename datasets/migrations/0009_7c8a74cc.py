import openclaw_web.sqlite.fields
from django.db import migrations, models

COLUMNS = ("records_hash", "is_stale", "checked_at")


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0008_49bab225'),
    ]

    operations = [
        migrations.RemoveIndex(model_name='sampleexchange', name='idx_exchange_checked'),
        migrations.RemoveIndex(model_name='sampleexchange', name='idx_exchange_stale'),
        migrations.SeparateDatabaseAndState(
            # As Django's operations write the columns, which would copy the whole table for each.
            database_operations=[
                *[migrations.RunSQL(f'ALTER TABLE "sample_exchanges" DROP COLUMN "{name}"') for name in COLUMNS],
                migrations.RunSQL("""ALTER TABLE "sample_exchanges" ADD COLUMN "clean_rules" integer DEFAULT 0 NOT NULL"""),
                migrations.RunSQL("""ALTER TABLE "sample_exchanges" ADD COLUMN "clean_texts" BLOB DEFAULT X'' NOT NULL"""),
            ],
            state_operations=[
                *[migrations.RemoveField(model_name='sampleexchange', name=name) for name in COLUMNS],
                migrations.AddField(
                    model_name='sampleexchange',
                    name='clean_rules',
                    field=openclaw_web.sqlite.fields.Count(db_default=0, default=0),
                ),
                migrations.AddField(
                    model_name='sampleexchange',
                    name='clean_texts',
                    field=models.BinaryField(db_default=b'', default=b''),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name='sampleexchange',
            index=models.Index(fields=['clean_rules', 'sample'], name='idx_exchange_rules'),
        ),
    ]
