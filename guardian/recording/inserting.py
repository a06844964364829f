"""Writes with their statuses, receipts and versions as rows: written out, since plugins wait for this transaction."""

from collections.abc import Sequence

from django.db import connections, models

from openclaw_web.sqlite import rows as sqlite_rows
from openclaw_web.sqlite import statements, words

from ..models import FileSnapshot, GuardianReceipt, GuardianStatus, WriteGuardianAudit
from ..models.shared_columns import column_value

FIELDS = {
    model: [field for field in model._meta.concrete_fields if field.column and not isinstance(field, models.AutoField)]
    for model in (FileSnapshot, GuardianReceipt, GuardianStatus, WriteGuardianAudit)
}
SQL = {
    model: sqlite_rows.insert_sql(model._meta.db_table, [field.attname for field in fields])
    for model, fields in FIELDS.items()
}
SQL[FileSnapshot] = SQL[FileSnapshot].replace("INSERT", words.INSERT_OR_LEAVE, 1)  # its id says what it holds
SQL[GuardianReceipt] = SQL[GuardianReceipt].replace("INSERT", words.INSERT_OR_REPLACE, 1)  # what was told last


DELETE = ("DELETE FROM guardian_statuses WHERE audit_id = %s", "DELETE FROM write_guardian_audit WHERE id = %s")


def delete(db: str, audit_id: str) -> None:
    """Remove a write on which nothing hangs, with its status."""
    for sql in DELETE:
        statements.run(db, sql, [audit_id])


def insert(db: str, new: Sequence[models.Model]) -> None:
    """Insert rows of one model, in the caller's transaction."""
    if not new:
        return
    fields, connection = FIELDS[type(new[0])], connections[db]
    rows = [[column_value(row, field, connection) for field in fields] for row in new]
    statements.run_many(db, SQL[type(new[0])], rows)
    for row in new:
        row._state.db, row._state.adding = db, False
