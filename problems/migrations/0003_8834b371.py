import openclaw_web.sqlite.fields
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('problems', '0002_d6b7d213'),
    ]

    operations = [
        migrations.AddField(
            model_name='problem',
            name='notified_severity',
            field=openclaw_web.sqlite.fields.Count(default=0),
        ),
    ]
