from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('guardian', '0001_9d99f9e1'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='guardianrun',
            name='idx_guardian_run_turn',
        ),
        migrations.RemoveIndex(
            model_name='guardianrun',
            name='idx_guardian_run_audit',
        ),
        migrations.RemoveIndex(
            model_name='handover',
            name='idx_handover_created',
        ),
        migrations.RemoveIndex(
            model_name='writeguardianaudit',
            name='idx_audit_chart',
        ),
    ]
