"""Writes proposals without a person, unless a limit or a setting prevents it.

It is off for every file of every agent until an admin turns it on.
"""

import unicodedata

from django.conf import settings
from django.utils.translation import gettext as _

from agents.models import Agent
from agents.runners import switches
from agents.runners.switches import Switch
from artifacts.contents import secrets
from jobs.kinds import DAY_MS
from openclaw_web import clock
from openclaw_web.amounts import format_plural
from openclaw_web.diffs.line_diff import split_lines
from openclaw_web.errors import Refused
from openclaw_web.llm import endpoint
from openclaw_web.pages.glyphs import HIDDEN
from people.audit import log as audit
from people.configuration import setting_values as configuration

from ..changes import Change
from ..files import MEMORY_FILES
from ..models import GuardianRun, WriteGuardianAudit
from ..recording.reports import CHANGED
from ..rollbacks import recovery
from ..services import bytes_to_text
from ..standing import read_live_record
from ..standing.files import GUARDED
from . import proposals
from .llm.config import RUNNER
from .proposals import BY_GUARDIAN, ProposalPreview

NEVER_UNATTENDED = ("SOUL.md", "IDENTITY.md")  # docs/decisions/0027-what-is-never-written-unattended.md
UNATTENDED_FILES = tuple(name for name in MEMORY_FILES if name not in NEVER_UNATTENDED)
ADDED, REMOVED, WRITES = (f"writeGuardian.unattended{name}" for name in ("LinesAdded", "LinesRemoved", "WritesPerDay"))
PLUGIN_DAYS = 7
Audit = WriteGuardianAudit
# Letters and marks that are drawn as nothing, beside those of the categories below.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0") | {
    *map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
}
UNSEEN = ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp", "Zs")
SPACES = {" ", "\u00a0", "\u3000"}  # blanks that people write; others look like one and are something else


def turn_on(agent: Agent, name: str, *, by: str) -> Switch:
    """Turn on unattended writing of a file.

    A file that is on for this endpoint already stays as it is.

    Raises Refused for a file that is never written so, and while no endpoint is configured: it is named here.
    """
    if name not in UNATTENDED_FILES:
        raise Refused(_("%(file)s is never written unattended.") % {"file": name})
    return switches.turn_on(RUNNER, agent, name, by=by, host=endpoint.from_environment().host)


def write_or_note(agent: Agent, run: GuardianRun) -> None:
    """Write a proposal now, or store in it why it waits for a person."""
    try:
        with proposals.exclusive_write(agent):
            recovery.recover_locked(agent)
            preview = proposals.preview(agent, run)
            if note := find_obstacle(agent, preview):
                _store_note(agent.db, run, note)
                return
            result = proposals.write(agent, preview, by=BY_GUARDIAN)
    except Refused as refused:  # somebody writes to the file at this moment, or it is none that may be written
        _store_note(agent.db, run, refused.sentence)
        return
    if result.is_written:
        with audit.act_via("job"):
            audit.record(
                BY_GUARDIAN, "proposal_written", object_type="proposal", object_id=run.id, agent_id=agent.agent_id
            )


def read_limits() -> dict[str, int]:
    """Return the limits: added and removed lines of one write, and writes a day."""
    values = configuration.get_many(ADDED, REMOVED, WRITES)
    return {"added": values[ADDED], "removed": values[REMOVED], "writes": values[WRITES]}


def find_obstacle(agent: Agent, preview: ProposalPreview) -> str:
    """Return why a proposal waits for a person, as a sentence; empty if nothing prevents writing."""
    if sentence := _find_file_obstacle(agent, preview.run.target_file):
        return sentence
    if preview.is_merged:
        return _("The file changed while the model worked.")
    change = preview.change
    return (
        _find_size_obstacle(change)
        or _find_content_obstacle(change, preview.new_content)
        or _find_quota_obstacle(agent.db)
    )


def _find_file_obstacle(agent, name):
    if name in NEVER_UNATTENDED:
        return _("%(file)s is never written unattended.") % {"file": name}
    switched = switches.read_agent_switches(RUNNER, agent.agent_id).get(name)
    if switched is None:
        return _("Unattended writing is off for %(file)s.") % {"file": name}
    if switched.host != endpoint.from_environment().host:
        return _("The endpoint is another one than when unattended writing was turned on.")
    if not settings.WORKSPACE_WRITES:
        return _("This site does not write into workspaces.")
    if name in GUARDED and read_live_record(agent, name) is not None:
        return _("OpenClaw keeps a record of this file: a write of this site may take it out of the prompt.")
    week = clock.now_ms() - PLUGIN_DAYS * DAY_MS  # a write from the future counts as of now
    writes = Audit.objects.using(agent.db).filter(
        created_at__gte=week, origin__in=(Audit.Origin.RECORDED, Audit.Origin.IMPORTED), status__in=CHANGED
    )
    return _("The plugin wrote here in the last 7 days.") if writes.exists() else ""


def _find_size_obstacle(change: Change):
    most = configuration.get_many(ADDED, REMOVED)
    if change.added > most[ADDED]:
        return format_plural("More than %(count)s added line.", "More than %(count)s added lines.", most[ADDED])
    if change.removed > most[REMOVED]:
        return format_plural("More than %(count)s removed line.", "More than %(count)s removed lines.", most[REMOVED])
    return ""


def _find_content_obstacle(change: Change, content):
    lines = split_lines(bytes_to_text(content))
    added = "".join(line for hunk in change.hunks for line in lines[hunk[2] : hunk[3]])
    if secrets.find_kinds(added):
        return _("The added lines may hold a secret.")
    chars = {*added.replace("\r\n", "\n")} - {"\n", "\t", *SPACES}
    if any(HIDDEN.match(char) or char in BLANK or unicodedata.category(char) in UNSEEN for char in chars):
        return _("The added lines hold characters that are not seen, or that reorder text.")
    return ""


def _find_quota_obstacle(db):
    most, (today, tomorrow) = configuration.get_number(WRITES), clock.today_ms()
    runs = GuardianRun.objects.using(db).filter(state=GuardianRun.State.WRITTEN, created_at__gte=today - DAY_MS)
    if runs.filter(decided_by=BY_GUARDIAN, decided_at__gte=today, decided_at__lt=tomorrow).count() < most:
        return ""
    return _("The limit of unattended writes of today is reached.")


def _store_note(db, run, note):
    run.note = note
    GuardianRun.objects.using(db).filter(id=run.id).update(note=note)
