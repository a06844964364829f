"""Whose words a memory file holds: before it becomes a sample, every line of it leads to a turn that may be used."""

from gate.recording import consent
from guardian.looking import usable
from guardian.looking.blaming import Past
from guardian.models import WriteGuardianAudit


def is_file_withheld(db: str, audit: WriteGuardianAudit, choice: WriteGuardianAudit | None = None) -> bool:
    """Whether a file that a sample of a write holds has a line that leads to no turn whose words may be used.

    That is the file before the write and after it, and after `choice`, the rollback in which a person chose what it
    holds. Nothing is withheld while nobody has opted out.
    """
    if not consent.opted_out():
        return False
    past = Past(db, audit.target_file or "")
    held = (past.before(audit), past.after(audit), past.after(choice) if choice else None)
    return any(usable.withheld(db, blamed) for blamed in held if blamed)
