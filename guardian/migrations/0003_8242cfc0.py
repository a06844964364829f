import django.db.models.manager
import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('guardian', '0002_09131419'),
    ]

    operations = [
        migrations.CreateModel(
            name='GuardianTest',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('set_id', models.TextField()),
                ('llm_model', models.TextField()),
                ('prompt', models.TextField()),
                ('started_by', models.TextField()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'guardian_tests',
            },
        ),
        migrations.AlterModelManagers(
            name='guardianrun',
            managers=[
                ('every', django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddField(
            model_name='guardianrun',
            name='test_id',
            field=models.TextField(null=True),
        ),
        migrations.AddIndex(
            model_name='guardianrun',
            index=models.Index(condition=models.Q(('test_id__isnull', False)), fields=['test_id', 'state'], name='idx_guardian_run_test'),
        ),
    ]
