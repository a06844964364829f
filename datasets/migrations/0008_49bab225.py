import datasets.fields
from django.db import migrations


def rebuild_table(apps, schema_editor):
    """The column checks its choices itself, and Django takes a new one for no change of the table."""
    schema_editor._remake_table(apps.get_model("datasets", "VersionTaint"))


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0007_4e9b322b'),
    ]

    operations = [
        migrations.AlterField(
            model_name='versiontaint',
            name='reason',
            field=datasets.fields.OneOf(choices=[('removed', 'Removed'), ('opted_out', 'Opted Out'), ('rolled_back', 'Rolled Back'), ('rejected', 'Rejected'), ('changed_since', 'Changed')]),
        ),
        migrations.RunPython(rebuild_table, migrations.RunPython.noop),
    ]
