from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('guardian', '0003_writes_in_order'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='guardianreceipt',
            index=models.Index(condition=models.Q(('id', models.F('audit_id')), _negated=True), fields=['audit_id'], name='idx_receipt_audit'),
        ),
    ]
