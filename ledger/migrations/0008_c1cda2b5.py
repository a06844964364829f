from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ledger', '0007_b83521df'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='trajectoryevent',
            index=models.Index(condition=models.Q(('type', 'tool.action.finished')), fields=['created_at'], name='idx_trajectory_tool'),
        ),
    ]
