import openclaw_web.sqlite.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('operations', '0001_49670574'),
    ]

    operations = [
        migrations.CreateModel(
            name='Notification',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('channel', models.TextField()),
                ('body', models.TextField()),
                ('attempts', openclaw_web.sqlite.fields.Count(default=0)),
                ('tried_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('failure', models.TextField(default='')),
            ],
            options={
                'db_table': 'notifications',
            },
        ),
    ]
