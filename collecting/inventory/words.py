"""Names of the kinds and reasons of skipped sources, on pages and in reports."""

from django.utils.translation import gettext_lazy as _

from agents.skipped_sources import Kind, Reason

KIND_WORDS = {
    Kind.FILE: _("File"),
    Kind.FOLDER: _("Folder"),
    Kind.INDEX_ENTRY: _("Index entry"),
}
REASON_WORDS = {
    Reason.NO_RECORDS: _("No records found"),
    Reason.NOT_TRANSCRIPT: _("Not a transcript"),
    Reason.CHECKPOINT: _("Checkpoint that repeats records"),
    Reason.DELETED: _("Deleted session"),
    Reason.RESET: _("Session before a reset"),
    Reason.BACKUP: _("Copy of a transcript"),
    Reason.IMPORTED: _("Moved into OpenClaw’s database"),
    Reason.COLD: _("Archive that no database names"),
    Reason.OPTED_OUT: _("Person opted out"),
    Reason.UNNAMED: _("Participants unknown while somebody is opted out"),
    Reason.REMOVED: _("Removed or archived here"),
    Reason.UNDONE: _("Excluded by an undo"),
    Reason.LOCK: _("Lock"),
    Reason.TEMPORARY: _("Temporary file"),
    Reason.TRAJECTORY: _("Pointer to a trajectory"),
    Reason.INDEX: _("Copy of a session index"),
    Reason.SKILLS_PROMPT: _("Text of a skill"),
    Reason.DATABASE: _("Part of a database"),
    Reason.SECRET: _("May contain a secret"),
    Reason.NOT_LISTED: _("Not read by this site"),
    Reason.LINK: _("Link"),
    Reason.UNREADABLE: _("Cannot be opened"),
    Reason.ODD_NAME: _("Name is not UTF-8"),
    Reason.TOO_MANY: _("Too many files"),
    Reason.FAILED: _("Could not be read"),
    Reason.OTHER_AGENT: _("Transcript of another agent"),
    Reason.UNUSABLE: _("Entry without a session"),
    Reason.EMPTY: _("Transcript without records"),
    Reason.REMOVED_RUN: _("Scheduled run whose transcript OpenClaw removed"),
}
