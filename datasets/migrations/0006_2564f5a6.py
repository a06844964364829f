from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0005_49bab225'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='datasetsample',
            index=models.Index(condition=models.Q(('privacy_checked', None)), fields=['privacy_checked', 'id'], name='idx_sample_unchecked'),
        ),
    ]
