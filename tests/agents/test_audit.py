"""The audit log's table: the content of entries, and that entries never change."""

import pytest
from django.db import DatabaseError, connection, transaction

from people.audit import log as audit
from people.models.bookkeeping import AuditEntry

pytestmark = pytest.mark.django_db


def test_it_works():
    audit.record("root", "role_changed", object_type="user", object_id="zoe", role="labeller")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.via, entry.action, entry.object_type, entry.object_id) == (
        *("root", "command", "role_changed"),
        *("user", "zoe"),
    )
    assert entry.detail_json == '{"role":"labeller"}'
    assert entry.at > 1_700_000_000_000


def test_it_says_by_what_means():
    with audit.act_via("api"):
        audit.record("root", "read")
        audit.set_via("token oc_12345678")
        audit.record("root", "read")
    audit.record("root", "read")
    assert [entry.via for entry in AuditEntry.objects.order_by("id")] == ["api", "token oc_12345678", "command"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE operator_audit SET actor = 'nobody'",
        "DELETE FROM operator_audit",
        "REPLACE INTO operator_audit SELECT * FROM operator_audit",
    ],
)
def test_an_entry_never_changes(change):
    audit.record("root", "read")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)
    assert AuditEntry.objects.get().actor == "root"
