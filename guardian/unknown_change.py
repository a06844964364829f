"""Explains in a sentence why the change of a write is not known.

The page, the API and the command show the same sentence.
"""

from django.utils.translation import gettext as _

from people.configuration import setting_values as configuration

from . import services
from .models import WriteGuardianAudit
from .recording import snapshot_pairs, sql, write_store
from .recording.reports import CHANGED, Source


def explain_unknown(row: WriteGuardianAudit) -> str:
    """Return the sentence; empty where the change is known, or the write changed no file."""
    is_known = row.before_snapshot_id or row.after_snapshot_id or row.diff is not None
    if is_known or row.status not in CHANGED:
        return ""
    words = {"file": row.target_file or "", "setting": write_store.SNAPSHOTS_SETTING}
    if not row.target_file:
        return _("What changed is not known: the write names no file.")
    if row.sources & Source.ELSEWHERE:
        return _("What changed is not known: no agent has the workspace of this write.")
    if not configuration.is_on(write_store.SNAPSHOTS_SETTING):
        return _("What changed is not known: the setting %(setting)s is off.") % words
    return _explain_by_versions(row) % words


def _explain_by_versions(row):
    db, name, at = row._state.db or "", row.target_file, row.created_at
    count = services.find_held_versions(db, name).values("id")[:2].count()
    if count == 0:
        return _("No version of %(file)s is stored, so the change of this write is not known.")
    if count == 1:
        return _("Only one version of %(file)s is stored, so the change of this write is not known.")
    if snapshot_pairs.is_ambiguous(db, row):
        return _(
            "Several changes of %(file)s added the words of this fact, so it is not known which one is this write's."
        )
    if not sql.has_newer_snapshot(db, name, at):
        return _("No later version of %(file)s is stored yet, so the change of this write is not known.")
    if sql.find_last_snapshot(db, name, at) is None:
        return _("The first stored version of %(file)s is later than this write, so its change is not known.")
    return _("What changed is not known: other writes explain the changes of %(file)s around this time.")
