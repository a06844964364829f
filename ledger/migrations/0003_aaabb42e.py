import openclaw_web.sqlite.fields
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('ledger', '0002_0bc00000'),
    ]

    operations = [
        migrations.AlterField(
            model_name='session',
            name='rules',
            field=openclaw_web.sqlite.fields.Count(db_default=1, default=3),
        ),
    ]
