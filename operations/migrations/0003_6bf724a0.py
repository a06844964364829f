import django.db.models.deletion
import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('operations', '0002_29ade84d'),
    ]

    operations = [
        migrations.CreateModel(
            name='Remediation',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('agent_id', models.TextField()),
                ('turn_id', models.TextField()),
                ('reason', models.TextField()),
                ('started_by', models.TextField()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'remediations',
                'indexes': [models.Index(fields=['agent_id', 'turn_id'], name='idx_remediation_turn')],
            },
        ),
        migrations.CreateModel(
            name='RemediationStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('remediation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='operations.remediation')),
                ('number', openclaw_web.sqlite.fields.Count()),
                ('kind', models.TextField(choices=[('reject', 'Reject the sample'), ('write', 'Roll back the write'), ('note', 'Daily note'), ('review', 'Review the answer'), ('release', 'Mark the release'), ('download', 'Downloaded file')])),
                ('key', models.TextField()),
                ('title', models.TextField()),
                ('href', models.TextField(default='')),
                ('is_handed_over', models.BooleanField(default=False)),
                ('puts_back', models.BooleanField(default=False)),
                ('seen', models.TextField(default='')),
                ('state', models.TextField(choices=[('waiting', 'Waiting'), ('done', 'Done'), ('failed', 'Failed'), ('left', 'Left'), ('undone', 'Undone')], default='waiting')),
                ('problem', models.TextField(default='')),
                ('label_id', models.TextField(default='')),
                ('at', openclaw_web.sqlite.fields.EpochMs(null=True)),
            ],
            options={
                'db_table': 'remediation_steps',
                'constraints': [models.UniqueConstraint(fields=('remediation', 'number'), name='remediation_step_number')],
            },
        ),
    ]
