from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('findings', '0001_e9f483ee'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='finding',
            name='state',
        ),
    ]
