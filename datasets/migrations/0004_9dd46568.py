import django.db.models.deletion
import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0003_707e8993'),
    ]

    operations = [
        migrations.CreateModel(
            name='ReleaseSeal',
            fields=[
                ('version', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='seal', serialize=False, to='datasets.datasetversion')),
                ('sha256', models.TextField()),
                ('contents', models.BinaryField()),
                ('sealed_at', openclaw_web.sqlite.fields.EpochMs()),
                ('is_later', models.BooleanField(default=False)),
            ],
            options={
                'db_table': 'release_seals',
            },
        ),
        migrations.AddField(
            model_name='datasetversion',
            name='remade_from',
            field=openclaw_web.sqlite.fields.Count(null=True),
        ),
    ]
