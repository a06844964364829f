"""Seven apps hold the tables that two apps had once.

Their first migrations replace all that those two had: a home that has seen them all is adopted as it is. Django leaves
one that has seen only some silently alone, so that is refused here before anything is migrated.
"""

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import gettext as _

from ..errors import Refused

REPLACED = [
    ("agents", "0001_initial"),
    ("agents", "0002_operator_audit"),
    ("agents", "0003_audit_is_append_only"),
    ("agents", "0004_audit_is_never_replaced"),
    ("agents", "0005_audit_by_time"),
    ("agents", "0006_databases_as_sources"),
    ("agents", "0007_collected_sessions"),
    ("agents", "0008_ends_of_sources"),
    ("agents", "0009_artifacts_as_sources"),
    ("operations", "0001_initial"),
    ("operations", "0002_invitations_and_sign_ins"),
    ("operations", "0003_idempotency_keys"),
    ("operations", "0004_orders_of_schedules"),
    ("operations", "0005_backups"),
    ("operations", "0006_background_work"),
    ("operations", "0007_migration_runs"),
    ("operations", "0008_count_unknown_envelopes"),
    ("operations", "0009_incomplete_backups"),
    ("operations", "0010_lists_by_index"),
]
# The two that came after them, each replaced by one of `jobs`.
QUEUE = [("operations", "0011_the_row_is_the_queue")]
CANCELLING = [("operations", "0012_cancelled_jobs")]
FORMER = frozenset({*REPLACED, *QUEUE, *CANCELLING})
FIRST = ("people", "0001_tables")


def half_migrated(seen: set[tuple[str, str]]) -> str:
    """Why a file that has seen these migrations cannot be adopted, and what to do; empty when it can be, or is new."""
    missing = [node for node in REPLACED if node not in seen]
    if FIRST in seen or not missing or len(missing) == len(REPLACED):
        return ""
    sentence = _(
        "This home is from an older version and cannot be used by this version yet: %(migration)s is "
        "missing. Nothing was changed. First run the last version before the move of the tables once "
        "(see docs/databases.md), then this version."
    )
    return sentence % {"migration": ".".join(missing[0])}


def refuse_half_migrated(connection: BaseDatabaseWrapper) -> None:
    """Raise Refused when a file of ours has seen some of the migrations that were replaced, and not all of them."""
    if sentence := half_migrated(set(MigrationRecorder(connection).applied_migrations())):
        raise Refused(sentence)
