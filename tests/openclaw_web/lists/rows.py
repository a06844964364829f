"""Rows for the table of any list, generated from its fields.

Each row differs from the others; some have hostile texts.
"""

from django.conf import settings
from django.db import models

from benchmarks import bulk_rows
from openclaw_web.sqlite import fields
from tests.factories import T0

COUNT = 120  # more than two pages
HOUR_MS = 3_600_000
HOSTILE = "=1+1<script>alert(1)</script>\u202e"
# SQL expressions of `i` for columns that take certain values only.
SHAPES = {
    "artifacts": {
        "handle": "'ocm_artifact:v1:sha256:' || printf('%064x', i)",
        "content_type": "iif(i % 3, 'text/plain', 'text/html')",
        "secret_kinds": """iif(i % 4, '[]', '["jwt"]')""",
    },
    "audit": {"action": "iif(i % 3, 'invited', 'token_made')", "object_type": "iif(i % 2, 'user', 'token')"},
    "decisions": {
        "decision": "iif(i % 3, 'UPDATE_USER', 'NO_WRITE')",
        "candidate_fact": "iif(i % 3, {words}, NULL)",
        "llm_latency_ms": "i * 100",
    },
    "episodes": {
        "event_id": "'e' || i",
        "redacted": "i % 4 = 0",
        "scope": "'global'",
        "session_id": "iif(i % 3, 'session', {words})",
        "summary": "{words}",
        "type": "iif(i % 3, 'ops.alert', 'tool.call')",
    },
    "events": {
        "kind": "iif(i % 3, 'user', 'assistant')",
        "seq": "i",
        "event_id": "'r' || i",
        "event_json": "json_object('type', 'message', 'id', 'r' || i, 'message', json_object('content', {words}))",
    },
    "exports": {"file_path": "'exports/' || i", "sample_types": "'[]'", "filters": "NULL", "reasons_json": "'[]'"},
    "findings": {"value_hash": "printf('%032x', i)", "kind": "iif(i % 3, 'phone', 'email')", "rule": "{words}"},
    "datasets": {"name": "{words} || i", "options_json": "'{}'"},
    "jobs": {"kind": "iif(i % 3, 'collect', 'doctor')", "result_json": "'{}'"},
    "memory": {
        "agent_id": "'agent' || (i / 2)",
        "file_name": "iif(i % 2, 'MEMORY.md', 'USER.md')",
        "state": "iif(i % 3, 'cut', 'missing')",
        "rank": "i % 7",
    },
    "problems": {
        "kind": "iif(i % 3, 'task_failing', 'disk')",
        "subject": "{words} || i",
        "detail_json": """json_object('name', {words}, 'task', 't', 'count', 1, 'is_more', 0, 'folder', '/')""",
    },
    "rejected": {"reason": "iif(i % 3, 'not_json', 'not_utf8')", "byte_offset": "i"},
    "samples": {
        **dict.fromkeys(("gate_corrected_output", "guardian_corrected_output"), "NULL"),
        "content": "json_object('userMessage', {words}, 'agentReply', 'yes')",
        "prompted_by": "iif(i % 3, 'cron', '')",
        "reply_stop": "iif(i % 4, 'stop', 'aborted')",
        "reject_reason": "iif(i % 2, 'wrong', NULL)",
    },
    "sessions": {"origin": "iif(i % 3, 'direct', 'cron')", "error_count": "i % 3"},
    "skipped": {"path": "{words} || i", "reason": "iif(i % 3, 'reset', 'bak')", "kind": "iif(i % 2, 'file', 'folder')"},
    "turns": {
        "turn_number": "i",
        "is_active": "1",
        "error_count": "i % 3",
        "answer_state": "iif(i % 3, '', 'silent')",
        "delivery": "iif(i % 4, 'not_known', 'delivered')",
    },
    "writes": {
        "target_file": "iif(i % 2, 'MEMORY.md', 'USER.md')",
        "session_id": "iif(i % 3, 'session', {words})",
        "candidate_fact": "{words}",
    },
}


def fill_list(declaration):
    """Stores COUNT rows of a list; returns them as dictionaries of their columns."""
    db = "agent_ada" if declaration.table._meta.app_label in settings.AGENT_APPS else "default"
    columns = [field for field in declaration.table._meta.concrete_fields if field.column]
    if any(field.is_relation and not field.null for field in columns):
        bulk_rows.fill_sessions(db, 3)
    values = {field.column: _expression(number, field) for number, field in enumerate(columns)}
    values |= {
        name: text.replace("{words}", _one_of(["word", "other", HOSTILE], "i"))
        for name, text in SHAPES.get(declaration.on, {}).items()
    }
    bulk_rows.insert(db, declaration.table, COUNT, **values)
    return list(declaration.table.objects.using(db).values())


def _expression(number, field):
    """Returns the SQL of a column for row `i`; nullable columns are sometimes NULL.

    No two columns have the same values.
    """
    scattered = f"((i + 7) * {number * 2 + 3} * 7919 / 61)"
    value = _value(scattered, field)
    return f"iif({scattered} % 7, {value}, NULL)" if field.null else value


def _value(scattered, field):
    if field.is_relation and field.null:
        return "NULL"
    if field.is_relation:
        return f"printf('%08d', {scattered} % 3)"
    if field.primary_key:
        return "i + 1" if isinstance(field, models.IntegerField) else "printf('%026d', i)"
    if field.choices:
        return _one_of([value for value, _label in field.choices], scattered)
    if isinstance(field, fields.EpochMs) and not isinstance(field, fields.Count):
        return f"{T0} + i / 2 * {HOUR_MS}"
    if isinstance(field, models.BooleanField):
        return f"{scattered} % 2"
    if isinstance(field, models.FloatField):
        return f"{scattered} % 50 / 100.0"
    if isinstance(field, models.IntegerField):
        return f"{scattered} % 50"
    if isinstance(field, models.BinaryField) or field.column.endswith(("_json", "_hash")):
        return "NULL" if field.null else "'{}'"
    if field.column.endswith("_by"):  # user names of this site
        return _one_of(["ann", "root"], scattered)
    if field.column == "agent_id":
        return _one_of(["ada", "bob"], scattered)
    return _one_of([field.column, "other", HOSTILE], scattered)


def _one_of(values, scattered):
    cases = " ".join(f"WHEN {place} THEN '{value}'" for place, value in enumerate(values))
    return f"CASE {scattered} % {len(values)} {cases} END"
