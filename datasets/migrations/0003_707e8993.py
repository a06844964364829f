import datasets.fields
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0002_a0348c8a'),
    ]

    operations = [
        migrations.AddField(
            model_name='sampleclaim',
            name='kind',
            field=datasets.fields.OneOf(choices=[('sample', 'Sample'), ('value', 'Value')], default='sample'),
        ),
    ]
