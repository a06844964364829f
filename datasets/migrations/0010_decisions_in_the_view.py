from django.db import migrations

# A sample that is a decision of memory_gate holds its words in a conversation, whose last messages are the turn's own.
SAID = "json_extract(s.content, '$.conversation[#-{place}].message')"
ROLE = "json_extract(s.content, '$.conversation[#-{place}].role')"
VIEW = f"""
CREATE VIEW pending_review_samples AS
SELECT
    s.*,
    CASE WHEN json_valid(s.content) THEN COALESCE(
        json_extract(s.content, '$.userMessage'),
        CASE WHEN s.sample_type IN ('memory_gate_positive', 'memory_gate_negative') THEN CASE
            WHEN {ROLE.format(place=1)} = 'user' THEN {SAID.format(place=1)}
            WHEN {ROLE.format(place=2)} = 'user' AND json_extract(s.content, '$.turnMessages') = 2
                THEN {SAID.format(place=2)}
        END END
    ) END AS user_message_content,
    CASE WHEN json_valid(s.content) THEN COALESCE(
        json_extract(s.content, '$.agentReply'),
        CASE WHEN s.sample_type IN ('memory_gate_positive', 'memory_gate_negative') AND {ROLE.format(place=1)} = 'agent'
            THEN {SAID.format(place=1)} END
    ) END AS agent_message_content,
    CASE WHEN json_valid(s.content) THEN COALESCE(
        json_extract(s.content, '$.memoryGate.output.decision'),
        json_extract(s.content, '$.incorrectDecision'),
        json_extract(s.content, '$.correctDecision')
    ) END AS memory_gate_decision,
    CASE WHEN json_valid(s.content) THEN json_extract(s.content, '$.writeGuardian.output.status') END
        AS write_guardian_status
FROM dataset_samples s
WHERE s.annotation_status = 'needs_review'
ORDER BY s.quality_score DESC
"""  # noqa: S608 - our own words
BEFORE = """
CREATE VIEW pending_review_samples AS
SELECT
    s.*,
    CASE WHEN json_valid(s.content) THEN json_extract(s.content, '$.userMessage') END AS user_message_content,
    CASE WHEN json_valid(s.content) THEN json_extract(s.content, '$.agentReply') END AS agent_message_content,
    CASE WHEN json_valid(s.content) THEN json_extract(s.content, '$.memoryGate.output.decision') END
        AS memory_gate_decision,
    CASE WHEN json_valid(s.content) THEN json_extract(s.content, '$.writeGuardian.output.status') END
        AS write_guardian_status
FROM dataset_samples s
WHERE s.annotation_status = 'needs_review'
ORDER BY s.quality_score DESC
"""


def _become(view):
    def change(apps, schema_editor):
        if schema_editor.connection.vendor == "sqlite":
            schema_editor.execute("DROP VIEW pending_review_samples")
            schema_editor.execute(view)

    return change


class Migration(migrations.Migration):
    dependencies = [("datasets", "0009_finding_and_comparing")]
    operations = [migrations.RunPython(_become(VIEW), _become(BEFORE), elidable=False)]
