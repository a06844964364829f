from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('gate', '0003_cea441f0'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='gatesessionsums',
            name='idx_gate_session_total',
        ),
    ]
