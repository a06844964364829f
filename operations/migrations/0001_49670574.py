import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='BackupRun',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('archive_path', models.TextField(default='')),
                ('status', models.TextField(choices=[('running', 'Running'), ('verified', 'Verified'), ('incomplete', 'Incomplete'), ('found', 'Found'), ('damaged', 'Damaged'), ('failed', 'Failed'), ('gone', 'Gone')], default='running')),
                ('manifest_json', models.TextField(default='{}')),
                ('archive_bytes', openclaw_web.sqlite.fields.Count(null=True)),
                ('archive_sha256', models.TextField(default='')),
                ('made_by', models.TextField(default='')),
                ('message', models.TextField(default='')),
                ('finished_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('verified_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('proven_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('proven_ms', openclaw_web.sqlite.fields.Count(null=True)),
            ],
            options={
                'db_table': 'backup_runs',
                'indexes': [models.Index(fields=['created_at', 'id'], name='idx_backup_created'), models.Index(fields=['proven_at'], name='idx_backup_proven')],
            },
        ),
    ]
