"""What stands beside the tables of `datasets`: verdicts are append-only, signatures go with words; the spec's view."""

ONLY_GROWS = "SELECT RAISE(ABORT, 'verdicts are append-only')"
TRIGGERS = {
    "sample_labels_no_update": f"BEFORE UPDATE ON sample_labels BEGIN {ONLY_GROWS}; END",
    "sample_labels_no_delete": f"BEFORE DELETE ON sample_labels BEGIN {ONLY_GROWS}; END",
    # INSERT OR REPLACE deletes without the triggers that refuse to delete.
    "sample_labels_no_replace": f"""BEFORE INSERT ON sample_labels
WHEN EXISTS (SELECT 1 FROM sample_labels WHERE id = NEW.id)
BEGIN {ONLY_GROWS}; END""",
    # Whoever changes the words of a sample: what it was compared by is not true any more, and is made again.
    "sample_signatures_outdated": """AFTER UPDATE OF content, output ON dataset_samples
WHEN NEW.output IS NOT OLD.output OR NEW.content IS NOT OLD.content
BEGIN DELETE FROM sample_signatures WHERE sample_id = OLD.id; END""",
}
# The spec joins the tables that the words come from; they are in the agents' files, the samples hold a copy. A sample
# that is a decision of memory_gate holds its words in a conversation, whose last messages are the turn's own; one that
# is a write to a memory file holds what the guardian did as its decision.
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
    CASE WHEN json_valid(s.content) THEN COALESCE(
        json_extract(s.content, '$.writeGuardian.output.status'),
        CASE WHEN s.sample_type = 'write_guardian_decision' THEN json_extract(s.content, '$.decision') END
    ) END AS write_guardian_status
FROM dataset_samples s
WHERE s.annotation_status = 'needs_review'
ORDER BY s.quality_score DESC
"""  # noqa: S608 - our own words


def add(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(VIEW)
        for name, rest in TRIGGERS.items():
            schema_editor.execute(f"CREATE TRIGGER {name} {rest}")


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for name in TRIGGERS:
            schema_editor.execute(f"DROP TRIGGER {name}")
        schema_editor.execute("DROP VIEW pending_review_samples")
