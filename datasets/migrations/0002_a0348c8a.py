from django.db import migrations

# Verdicts on found values join the history of review, from which they are undone.
ADD = """
INSERT INTO review_actions (actor, kind, at, state, label_id, sample_count)
SELECT decided_by, 'verdict', decided_at,
    CASE WHEN id IN (SELECT undoes FROM finding_verdicts WHERE undoes IS NOT NULL) THEN 'undone' ELSE 'done' END, id, 0
FROM finding_verdicts WHERE undoes IS NULL ORDER BY decided_at, id
"""


class Migration(migrations.Migration):
    dependencies = [('datasets', '0001_152a48d8')]
    operations = [migrations.RunSQL(ADD, migrations.RunSQL.noop)]
