import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='JobRun',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('kind', models.TextField()),
                ('params_json', models.TextField(default='{}')),
                ('state', models.TextField(choices=[('queued', 'Queued'), ('running', 'Running'), ('finished', 'Finished'), ('refused', 'Refused'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('stopped', 'Stopped')], default='queued')),
                ('attempts', openclaw_web.sqlite.fields.Count(default=0)),
                ('done', openclaw_web.sqlite.fields.Count(default=0)),
                ('total', openclaw_web.sqlite.fields.Count(null=True)),
                ('message', models.TextField(default='')),
                ('log', models.TextField(default='')),
                ('result_json', models.TextField(null=True)),
                ('started_by', models.TextField(default='')),
                ('language', models.TextField(default='')),
                ('worker', models.TextField(default='')),
                ('ends_with_process', models.BooleanField(default=False)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('started_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('heartbeat_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('finished_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('cancel_requested_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('cancel_requested_by', models.TextField(default='')),
            ],
            options={
                'db_table': 'job_runs',
                'indexes': [models.Index(fields=['created_at', 'id'], name='idx_job_created'), models.Index(fields=['state', 'kind', 'created_at', 'id'], name='idx_job_state'), models.Index(fields=['kind', 'created_at', 'id'], name='idx_job_kind'), models.Index(fields=['state', 'created_at', 'id'], name='idx_job_state_created'), models.Index(fields=['started_by', 'created_at', 'id'], name='idx_job_by'), models.Index(fields=['started_by', 'kind', 'created_at', 'id'], name='idx_job_by_kind')],
            },
        ),
    ]
