from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0006_how_turns_began_and_ended")]

    operations = [
        migrations.AddField(
            model_name="datasetsample",
            name="turn_traits",
            field=models.TextField(
                help_text="tools, envelope, images or gone, with blanks between them (datasets.turn_facts); "
                "null: not known yet",
                null=True,
            ),
        ),
    ]
