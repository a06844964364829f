import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('gate', '0004_b36c3820'),
    ]

    operations = [
        migrations.CreateModel(
            name='RegressionSet',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('part', models.TextField()),
                ('number', openclaw_web.sqlite.fields.Count()),
                ('cases_json', models.TextField()),
                ('created_by', models.TextField()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'regression_sets',
            },
        ),
    ]
