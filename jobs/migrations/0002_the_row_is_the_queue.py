from django.db import migrations



class Migration(migrations.Migration):
    """Deliveries of django-tasks go: a row of job_runs that is queued is all that a worker needs to find."""


    dependencies = [
        ('jobs', '0001_tables'),
    ]

    operations = [
        migrations.RunSQL('DROP TABLE IF EXISTS django_tasks_database_dbtaskresult', migrations.RunSQL.noop),
    ]
