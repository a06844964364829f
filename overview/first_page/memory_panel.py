"""The last changed lines of memory files with their authors, copied into the global file."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Q
from django.urls import reverse

from agents.models import Agent
from guardian import words
from guardian.corrections import rules
from guardian.models import Rollback, WriteGuardianAudit
from ledger import consent
from ledger.models import ConversationTurn
from ledger.session.evidence import format_speaker, get_speaker_key
from openclaw_web import clock
from openclaw_web.sqlite.json_columns import encode

from ..models import NewestWrite
from ..span_sums import AHEAD_MS
from .newest_sessions import replace_rows, take_last_rows

LINES, LINES_OF_WRITE = 3, 2
KEPT = 4  # writes of each agent; some may have no lines with words
LONGEST = 200  # characters
LONGEST_DIFF = 20_000
COLUMNS = ("audit_id", "created_at", "file_name", "author", "lines_json")
AT = COLUMNS.index("created_at")


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """One line that a write added or removed.

    `author` is the person who rolled back, the speaker of the message, or the origin of the write.
    """

    agent_id: str
    file: str
    is_added: bool
    text: str
    author: str
    created_at: int
    href: str


def refresh(agent: Agent) -> None:
    """Refresh the last changed lines of an agent from its file."""
    replace_rows(NewestWrite, COLUMNS, agent, _read_newest)


def is_wrong(agent: Agent) -> bool:
    """Return whether the last writes of an agent differ from its file.

    Removed rows are no error.
    """
    stored = take_last_rows(NewestWrite.objects.filter(agent_id=agent.agent_id).values_list(*COLUMNS), AT, KEPT)
    counted = take_last_rows(_read_newest(agent), AT, KEPT)
    return stored != counted and not (consent.read_opted_out() and not stored)


def forget_words() -> None:
    """Remove the lines and their authors, since somebody may have opted out.

    The next import finds what may be shown.
    """
    NewestWrite.objects.all().delete()


def read_changed_lines(**whose: str) -> list[ChangedLine]:
    """Read the last lines that changed in any memory file, or in one of an `agent_id`, newest first."""
    writes = NewestWrite.objects.filter(created_at__lte=clock.now_ms(), **whose).order_by("-created_at", "audit_id")[
        :KEPT
    ]
    return [line for write in writes for line in _build_lines(write)][:LINES]


def _read_newest(agent):
    rows = WriteGuardianAudit.objects.using(agent.db).defer("hunks_json").filter(
        Q(lines_added__gt=0) | Q(lines_removed__gt=0),
        status=WriteGuardianAudit.Status.WRITTEN,
    )  # fmt: skip
    now = clock.now_ms()
    past = rows.filter(created_at__lte=now).order_by("-created_at")
    ahead = rows.filter(created_at__gt=now, created_at__lte=now + AHEAD_MS).order_by("created_at")  # of a fast clock
    writes = [row for row in (*past[:KEPT], *ahead[:KEPT]) if not rules.is_withheld(agent.db, row)]
    turn_ids = [write.turn_id for write in writes if write.turn_id]
    turns = ConversationTurn.objects.using(agent.db).only("user_from", "user_metadata").in_bulk(turn_ids)
    rollbacks = Rollback.objects.using(agent.db).filter(own_audit__in=[write.id for write in writes])
    people = dict(rollbacks.values_list("own_audit_id", "rolled_back_by"))
    return [_build_row(write, turns.get(write.turn_id), people.get(write.id)) for write in writes]


def _build_lines(write) -> Iterator[ChangedLine]:
    href = reverse("guardian:audit_detail", args=[write.agent_id, write.audit_id])
    author = words.write_origin_word(format_speaker(write.author))
    for sign, text in write.lines:
        yield ChangedLine(write.agent_id, write.file_name, sign == "+", text, author, write.created_at, href)


def _build_row(write, turn, rolled_back_by):
    """Build the columns; without a person, the author is an origin, which pages translate."""
    author = rolled_back_by or (turn and get_speaker_key(turn)) or write.origin
    diff = write.diff if isinstance(write.diff, str) else ""  # a column may hold another type: the doctor says so
    lines = encode(_find_changed_lines(diff))
    return write.id, write.created_at, write.target_file or "", author, lines


def _find_changed_lines(diff):
    """Return the first changed lines of a unified diff that have words, added ones first."""
    lines = diff[:LONGEST_DIFF].partition("\n@@")[2].splitlines()[1:]
    changed = [(line[0], _strip_marks(line[1:])) for line in lines if line[:1] in ("+", "-")]
    changed = [line for line in changed if line[1]]
    changed.sort(key=lambda line: line[0] == "-")
    return changed[:LINES_OF_WRITE]


def _strip_marks(line):
    return line.strip().removeprefix("- ").removeprefix("* ")[:LONGEST]
