"""The lines of a write: those that it added, or the fact where what it changed is not known."""

from openclaw_web.diffs.line_diff import split_lines

from ..models import WriteGuardianAudit


def list_lines(write: WriteGuardianAudit) -> list[str]:
    """Return the lines that a write added, without blank ones and headings."""
    before = set(split_lines(write.before_snapshot.content)) if write.before_snapshot else set()
    after = split_lines(write.after_snapshot.content) if write.after_snapshot else []
    lines = [line.strip() for line in after if line not in before] or [(write.candidate_fact or "").strip()]
    return [line for line in dict.fromkeys(lines) if line.strip("#-* ") and not line.startswith("#")]
