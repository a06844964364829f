import django.db.models.deletion
from django.db import migrations, models

import openclaw_web.sqlite.fields

# Whoever changes the words of a sample: what it was compared by is not true any more, and is made again.
TRIGGER = """CREATE TRIGGER sample_signatures_outdated AFTER UPDATE OF content, output ON dataset_samples
WHEN NEW.output IS NOT OLD.output OR NEW.content IS NOT OLD.content
BEGIN DELETE FROM sample_signatures WHERE sample_id = OLD.id; END"""


def add(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(TRIGGER)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER sample_signatures_outdated")


class Migration(migrations.Migration):
    dependencies = [("datasets", "0007_what_replies_rest_on")]

    operations = [
        migrations.CreateModel(
            name="SampleSignature",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "rule",
                    openclaw_web.sqlite.fields.Count(
                        help_text="the version of the rules it follows: likeness.signatures.RULE"
                    ),
                ),
                (
                    "made_from",
                    models.BinaryField(help_text="SHA-256 of prompt and reply, the reply as a person edited it"),
                ),
                (
                    "words",
                    models.BinaryField(help_text="hash of their normalised words: the same words, the same sample"),
                ),
                (
                    "numbers",
                    models.BinaryField(
                        help_text="MinHash of every five words, 128 numbers of four bytes; empty: no words"
                    ),
                ),
                (
                    "checksum",
                    openclaw_web.sqlite.fields.Count(help_text="CRC-32 of everything above and of the sample's id"),
                ),
                (
                    "sample",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="signature",
                        to="datasets.datasetsample",
                    ),
                ),
            ],
            options={"db_table": "sample_signatures"},
        ),
        migrations.RunPython(add, drop, elidable=False),
    ]
