import openclaw_web.sqlite.fields
from django.db import migrations, models

# As Django's AddField writes the columns, which would copy the whole tables.
COLUMNS = (
    """ALTER TABLE "conversation_turns" ADD COLUMN "answer_state" text DEFAULT '' NOT NULL""",
    """ALTER TABLE "conversation_turns" ADD COLUMN "asked_model" text NULL""",
    """ALTER TABLE "conversation_turns" ADD COLUMN "delivery" text DEFAULT 'not_known' NOT NULL""",
    """ALTER TABLE "sessions" ADD COLUMN "rules" integer DEFAULT 1 NOT NULL""",
)


class Migration(migrations.Migration):

    dependencies = [
        ('ledger', '0001_a4a0b922'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(statement) for statement in COLUMNS],
            state_operations=[
                migrations.AddField(
                    model_name='conversationturn',
                    name='answer_state',
                    field=models.TextField(db_default='', default=''),
                ),
                migrations.AddField(
                    model_name='conversationturn',
                    name='asked_model',
                    field=models.TextField(null=True),
                ),
                migrations.AddField(
                    model_name='conversationturn',
                    name='delivery',
                    field=models.TextField(db_default='not_known', default='not_known'),
                ),
                migrations.AddField(
                    model_name='session',
                    name='rules',
                    field=openclaw_web.sqlite.fields.Count(db_default=1, default=2),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name='conversationturn',
            index=models.Index(condition=models.Q(('answer_state', ''), _negated=True), fields=['created_at'], name='idx_turn_answer'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(condition=models.Q(('rules', 0)), fields=['id'], name='idx_session_again'),
        ),
    ]
