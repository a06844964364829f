from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('guardian', '0002_writes_rollbacks_and_corrections'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='writeguardianaudit',
            name='idx_audit_turn',
        ),
        migrations.RemoveIndex(
            model_name='writeguardianaudit',
            name='idx_audit_decision',
        ),
        migrations.AddIndex(
            model_name='writeguardianaudit',
            index=models.Index(fields=['turn_id', 'created_at'], name='idx_audit_turn'),
        ),
        migrations.AddIndex(
            model_name='writeguardianaudit',
            index=models.Index(fields=['decision_id', 'created_at'], name='idx_audit_decision'),
        ),
        migrations.AddIndex(
            model_name='writeguardianaudit',
            index=models.Index(fields=['origin', 'created_at'], name='idx_audit_origin'),
        ),
        migrations.AddIndex(
            model_name='writeguardianaudit',
            index=models.Index(condition=models.Q(('rule_id__isnull', False)), fields=['rule_id', 'created_at'], name='idx_audit_rule'),
        ),
        migrations.AddIndex(
            model_name='writeguardianaudit',
            index=models.Index(condition=models.Q(('retry_of__isnull', False)), fields=['retry_of'], name='idx_audit_retry'),
        ),
        migrations.AddIndex(
            model_name='writeguardianaudit',
            index=models.Index(fields=['created_at', 'status', 'origin', 'target_file'], name='idx_audit_chart'),
        ),
    ]
