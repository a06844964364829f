"""Finds a write to be corrected, and whether its words are withheld.

A correction may not repeat words of somebody who has opted out by now.
"""

from django.utils.translation import gettext as _

from gate.models import MemoryGateDecision
from gate.recording import windows
from ledger import consent
from openclaw_web.errors import Refused

from ..models import WriteGuardianAudit


class NoSuchWrite(Refused):
    """The agent has no such write."""

    status = 404


def get_write(db: str, audit_id: str) -> WriteGuardianAudit:
    """Return a write of an agent, without its diff. Raises NoSuchWrite."""
    rows = WriteGuardianAudit.objects.using(db).defer("diff", "hunks_json")
    audit = rows.filter(id=audit_id).first()
    if audit is None:
        raise NoSuchWrite(_("This agent has no write %(id)s.") % {"id": audit_id})
    return audit


def is_withheld(db: str, audit: WriteGuardianAudit) -> bool:
    """Return whether a write's fact may hold words of somebody who has opted out.

    While anybody has, that is every write without a turn. Of a write with a decision, what the gate saw counts too.
    """
    decision = MemoryGateDecision.objects.using(db).defer("raw_response").filter(id=audit.decision_id)
    return bool(consent.find_withheld_keys(db, [audit.turn_id]) or windows.find_withheld(db, decision))
