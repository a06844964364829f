from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('guardian', '0002_writes_rollbacks_and_corrections'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='writeguardianaudit',
            index=models.Index(condition=models.Q(('rule_id__isnull', False)), fields=['rule_id', 'created_at'], name='idx_audit_rule'),
        ),
        migrations.AddIndex(
            model_name='guardianreceipt',
            index=models.Index(condition=models.Q(('id', models.F('audit_id')), _negated=True), fields=['audit_id'], name='idx_receipt_audit'),
        ),
    ]
