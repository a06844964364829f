from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ledger', '0004_7a8dc55d'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='transcripteventidentity',
            name='idx_identity_reset',
        ),
        migrations.AddIndex(
            model_name='transcripteventidentity',
            index=models.Index(condition=models.Q(('event_type', 'reset'), ('parent_id__isnull', True), _connector='OR'), fields=['session_id', 'seq'], name='idx_identity_begin'),
        ),
    ]
