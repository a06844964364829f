"""Finds the text that brings a file back into the prompt.

With this cure the agent deletes the file and writes it again as it is.

It is offered only where our own versions say that the writes between the last trusted version and the fall were this
site's or a person's here, and where the turn in which the file fell read nothing from the web and was no stranger's.
"""

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.models import Agent
from ledger.collectors.records import read_facts
from ledger.models import ConversationTurn, Session, TranscriptEvent
from ledger.transcripts.trimming import full_record
from openclaw_web.errors import Refused

from ..models import ProvenanceRecord, WriteGuardianAudit
from ..recording.reports import CHANGED
from ..rollbacks import rollback_plan
from ..rollbacks.rollback_plan import hash_content
from ..runner.fact_selection import Memory
from ..runner.llm.tools import why_unreadable
from ..standing import read_live_record
from . import messages

Origin, Status = WriteGuardianAudit.Origin, WriteGuardianAudit.Status
OURS = (Origin.ROLLBACK, Origin.OWN)
MOST_WRITES = 50  # between the last trusted version and the fall
MOST_RECORDS = 500  # of the turn in which the file fell
STRANGERS = frozenset({"direct", "group", "channel", "room", "thread", "cron", "subagent", "hook", "acp"})
WEB_TOOL = re.compile(r"web|browser|fetch|http|url|search", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cure:
    """A file with the text that brings it back.

    With a `problem`, a sentence, there is no text.
    """

    name: str
    content: str | None = None
    message: str = ""
    problem: str = ""


def find_cure(agent: Agent, name: str) -> Cure:
    """Return the cure of a file as it is now; nothing is sent.

    Raises nothing: when the file cannot be read, this is a problem.
    """
    record = read_live_record(agent, name)
    if record is None or not record.is_untrusted:
        return Cure(name, problem=_("%(file)s is not left out of the prompt, so it needs no cure.") % {"file": name})
    try:
        data = rollback_plan.read_memory_file(agent, name)
    except Refused as refused:
        return Cure(name, problem=refused.sentence)
    if data is None or why_unreadable(data):
        problem = _("%(file)s cannot be quoted: the file is missing, no plain text, or too large.") % {"file": name}
        return Cure(name, problem=problem)
    content = data.decode()
    if Memory(agent).is_hidden(name):
        problem = _("%(file)s holds, or may hold, words of somebody who has opted out.") % {"file": name}
        return Cure(name, problem=problem)
    if not _was_dropped_by_us(agent, name, record):
        problem = _(
            "Nobody here can say that only this site or a person of this site changed %(file)s before it fell. Text "
            "from the web or from a stranger may be in it, so there is no text to hand over."
        )
        return Cure(name, content, problem=problem % {"file": name})
    is_twice = record.file_hash != hash_content(data)
    return Cure(name, content, messages.build_cure_message(name, content, is_twice=is_twice))


def _was_dropped_by_us(agent, name, record):
    """Whether only our writes lie between the last trusted version and the fall.

    The fall itself has to be a write of the agent.
    """
    trusted = _find_trusted_hash(agent.db, name, record)
    rows = WriteGuardianAudit.objects.using(agent.db).filter(target_file=name, status__in=CHANGED)
    rows = rows.select_related("before_snapshot", "after_snapshot").order_by("-created_at", "-id")
    writes = list(rows[: MOST_WRITES + 1])
    fall = next(
        (number for number, row in enumerate(writes) if _get_hash(row.after_snapshot) == record.file_hash), None
    )
    if fall is None or not trusted or writes[fall].origin in OURS or not _is_clean_turn(agent.db, record):
        return False
    expected_hash, count = _get_hash(writes[fall].before_snapshot), 0
    for row in writes[fall + 1 :]:
        if expected_hash == trusted:
            break
        if row.origin not in OURS or _get_hash(row.after_snapshot) != expected_hash:
            return False
        expected_hash, count = _get_hash(row.before_snapshot), count + 1
    return expected_hash == trusted and count > 0


def _find_trusted_hash(db, name, record):
    """Return the hash of the file when OpenClaw's record last trusted it.

    None where no import saw that record.
    """
    rows = ProvenanceRecord.objects.using(db).filter(file_name=name, origin_class="agent")
    rows = rows.filter(state=ProvenanceRecord.State.KNOWN).exclude(file_hash="")
    if record.observed_at is not None:
        rows = rows.filter(observed_at__lt=record.observed_at)
    return rows.order_by("-first_seen_at", "-id").values_list("file_hash", flat=True).first()


def _get_hash(version):
    return version.content_hash if version else ""


def _is_clean_turn(db, record):
    """Whether the turn in which the file fell is known and read nothing foreign.

    It is no stranger's, and called no tool that reads the web.
    """
    session = Session.objects.using(db).filter(id=record.session_id).only("id", "origin").first()
    if session is None or session.origin in STRANGERS or record.observed_at is None:
        return False
    turns = ConversationTurn.objects.using(db).filter(session_id=session.id, created_at__lte=record.observed_at)
    turn = turns.order_by("-created_at", "-turn_number").only("turn_number").first()
    if turn is None:
        return False
    events = TranscriptEvent.objects.using(db).filter(session_id=session.id, turn_number=turn.turn_number)
    rows = list(events.filter(kind=TranscriptEvent.Kind.ASSISTANT).order_by("seq")[: MOST_RECORDS + 1])
    calls = [call.name for row in rows for call in read_facts(full_record(row)).calls]
    return len(rows) <= MOST_RECORDS and not any(map(WEB_TOOL.search, calls))
