from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('gate', '0001_862e97a4'),
    ]

    operations = [
        migrations.CreateModel(
            name='GateStaleSum',
            fields=[
                ('pk', models.CompositePrimaryKey('kind', 'key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('kind', models.TextField()),
                ('key', models.TextField()),
            ],
            options={
                'db_table': 'gate_stale_sums',
            },
        ),
        # Sums that were not complete are computed anew.
        migrations.RunSQL(
            "INSERT INTO gate_stale_sums (kind, key) SELECT 'all', '' FROM gate_sums_state", migrations.RunSQL.noop
        ),
        migrations.DeleteModel(
            name='GateSumsState',
        ),
    ]
