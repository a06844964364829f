from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0001_b69fb2be'),
    ]

    operations = [
        migrations.AlterField(
            model_name='skippedsource',
            name='reason',
            field=models.TextField(choices=[('not_transcript', 'neither a session header nor a record'), ('checkpoint', 'repeats records of its transcript'), ('deleted', 'transcript of a deleted session'), ('reset', 'transcript before a reset'), ('bak', 'copy of a transcript'), ('imported', 'transcript that OpenClaw moved into its database'), ('cold', "archive of OpenClaw's database"), ('opted_out', 'conversation with somebody who opted out'), ('unnamed', 'participants not known while somebody is opted out'), ('removed', 'session that was removed or archived here'), ('undone', 'session whose import was undone'), ('lock', 'lock'), ('temporary', 'temporary file'), ('trajectory', 'pointer to a trajectory'), ('index', 'copy of a session index'), ('skills_prompt', 'text of a skill'), ('database', 'part of a database'), ('secret', 'may hold a secret'), ('not_listed', 'not among what is read'), ('link', 'link'), ('unreadable', 'cannot be opened'), ('odd_name', 'name that is no text'), ('too_many', 'beyond the number of files that is looked at'), ('failed', 'reading failed; the next import tries again'), ('other_agent', 'transcript of another agent'), ('unusable', 'entry without a usable session id'), ('empty', 'transcript without a record'), ('removed_run', 'scheduled run whose transcript OpenClaw removed'), ('no_records', 'nothing holds its records')]),
        ),
    ]
