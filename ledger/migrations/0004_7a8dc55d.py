from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ledger', '0003_aaabb42e'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            # As Django's AddField writes the column, which would copy the whole table.
            database_operations=[
                migrations.RunSQL("""ALTER TABLE "sessions" ADD COLUMN "leaf_ids" text DEFAULT '' NOT NULL"""),
            ],
            state_operations=[
                migrations.AddField(
                    model_name='session',
                    name='leaf_ids',
                    field=models.TextField(db_default='', default=''),
                ),
            ],
        ),
    ]
