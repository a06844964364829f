"""The message behind a fact, and the messages just before and after it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Length, Substr
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from .. import consent
from .. import injected_prompts as injecting
from ..models import ConversationTurn, RemovedSession, Session
from ..words import INJECTED_WORDS
from .timeline import SENDER_NAMES

LONGEST = 4_000  # characters of the message that are shown
NEIGHBORS = 2  # messages on each side
LONGEST_NEIGHBOR = 1_000
LONGEST_NAME = 80
INJECTED = "injected:"  # before the kind of an automatic message, where a name would stand
TURN = ("id", "session_id", "turn_number", "user_message_id", "agent_message_id", "user_from", "user_metadata",
        "created_at", "latency_ms", "is_active")  # fmt: skip
NOT_NAMED = gettext_lazy("The turn is not known: the source did not name it, and no turn fits the time.")
NOT_REPORTED = gettext_lazy("The turn is not known: no source reported this change of the file.")


@dataclass(frozen=True, slots=True)
class Message:
    """The beginning of a message, its author and its time.

    `author` is empty where the channel named nobody, `at` is None where the time is unknown. `injected` is a key of
    ledger.words.INJECTED_WORDS where no person sent it, and `automatic` is its name.
    """

    role: str  # user or agent
    text: str
    length: int
    turn_number: int
    record_id: str | None
    at: int | None = None
    author: str = ""
    injected: str = ""
    automatic: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether the message is longer than `text`."""
        return len(self.text) < self.length


@dataclass(frozen=True, slots=True)
class Evidence:
    """The message that a fact comes from, with its neighbours.

    Without a message, `missing` is the reason as a sentence.
    """

    session_id: str
    session: Session | None = None
    turn: ConversationTurn | None = None  # with the columns of TURN
    turn_number: int | None = None
    message: Message | None = None
    missing: str = ""
    is_withheld: bool = False  # somebody who opted out may be quoted
    before: list[Message] = field(default_factory=list)
    after: list[Message] = field(default_factory=list)


def get_speaker_name(turn: ConversationTurn) -> str:
    """The name of a turn's speaker, in the reader's language; empty when nobody is known.

    It is the name that the channel gave, the source of an automatic message, or an id.
    """
    return format_speaker(get_speaker_key(turn))


def get_speaker_key(turn: ConversationTurn) -> str:
    """The speaker of a turn as it is stored.

    An automatic message has the key of its kind, which `format_speaker` names.
    """
    sender = turn.sender
    if kind := sender.get("injected"):
        return f"{INJECTED}{kind}"[:LONGEST_NAME]
    names = (str(sender[name]) for name in SENDER_NAMES if sender.get(name))
    return next(names, turn.user_from or "")[:LONGEST_NAME]


def format_speaker(key: str) -> str:
    """A stored speaker, in the language of the reader."""
    kind = key.removeprefix(INJECTED)
    return key if kind == key else str(INJECTED_WORDS.get(kind, kind))


def read_evidence(db: str, row: Any, *, neighbours: bool = True) -> Evidence:
    """The message behind a write, a decision or a sample.

    `row` is any object with `turn_id` and `session_id`.
    """
    turn = _select_turns(LONGEST).using(db).filter(id=row.turn_id).first() if row.turn_id else None
    before, after = _read_turns_around(db, turn) if turn and neighbours else ([], [])
    hidden = consent.find_withheld(db, [turn, *before, *after]) if turn else set()
    session = _read_sessions(db).filter(id=turn.session_id if turn else row.session_id or "").first()
    evidence = _build_evidence(row, turn, session, hidden, _read_removals(db, [row] if turn is None else []))
    if evidence.message is None or not neighbours:
        return evidence
    return replace(evidence, before=_build_neighbours(before, hidden, last=True),
                   after=_build_neighbours([turn, *after], hidden, last=False))  # fmt: skip


def read_messages(db: str, rows: Iterable[Any]) -> dict[str, Evidence]:
    """The message behind each of many rows by its `id`, without neighbours."""
    rows = list(rows)
    turns = _select_turns(LONGEST_NEIGHBOR).using(db).in_bulk({row.turn_id for row in rows if row.turn_id})
    hidden = consent.find_withheld(db, turns.values())
    ids = {turn.session_id for turn in turns.values()} | {row.session_id for row in rows if row.session_id}
    sessions = _read_sessions(db).in_bulk(ids)
    removed = _read_removals(db, [row for row in rows if row.turn_id and row.turn_id not in turns])
    by_id = {}
    for row in rows:
        turn = turns.get(row.turn_id or "")
        session = sessions.get(turn.session_id if turn else row.session_id or "")
        by_id[row.id] = _build_evidence(row, turn, session, hidden, removed)
    return by_id


@lru_cache
def _select_turns(longest: int) -> QuerySet[ConversationTurn]:
    """Turns with the beginnings of both messages, because whole ones may be very long.

    Built once: adding its expressions takes as long as the query.
    """
    texts = {"user": "user_message_content", "agent": "agent_message_content"}
    parts = {f"{role}_words": Substr(name, 1, longest) for role, name in texts.items()}
    lengths = {f"{role}_length": Length(name) for role, name in texts.items()}
    return ConversationTurn.objects.only(*TURN).annotate(**parts, **lengths)


def _read_sessions(db):
    return Session.objects.using(db).only("id", "title", "channel_id", "origin")


def _read_turns_around(db, turn) -> tuple[list[ConversationTurn], list[ConversationTurn]]:
    """Turns before and after one, enough for the messages on each side, in their order.

    A turn on an abandoned branch has none: its session does not say which turns that branch had.
    """
    if not turn.is_active:
        return [], []
    rows = _select_turns(LONGEST_NEIGHBOR).using(db).filter(session_id=turn.session_id, is_active=True)
    before = rows.filter(turn_number__lt=turn.turn_number).order_by("-turn_number")[:NEIGHBORS]
    after = rows.filter(turn_number__gt=turn.turn_number).order_by("turn_number")[:NEIGHBORS]
    return list(before)[::-1], list(after)


def _build_neighbours(turns: Sequence[Any], hidden: Collection[str], *, last: bool) -> list[Message]:
    """The messages of turns next to the message; those after it begin with its reply."""
    messages = []
    for number, turn in enumerate(turns):
        if turn.id in hidden:
            continue
        if (last or number) and turn.user_length:
            messages.append(_build_user_message(turn))
        if turn.agent_length:
            at = turn.created_at + turn.latency_ms if turn.latency_ms is not None else None
            text = turn.agent_words[:LONGEST_NEIGHBOR]
            messages.append(Message("agent", text, turn.agent_length, turn.turn_number, turn.agent_message_id, at))
    return messages[-NEIGHBORS:] if last else messages[:NEIGHBORS]


def _read_removals(db, rows):
    """The reasons why sessions of rows without their turn were removed, by session."""
    ids = {row.session_id for row in rows if row.turn_id and row.session_id}
    removed = RemovedSession.objects.using(db).filter(session_id__in=ids) if ids else ()
    return {session.session_id: session.why for session in removed}


def _build_evidence(row, turn, session, hidden, removed):
    if turn is None:
        session_id = row.session_id or ""
        return Evidence(session_id, session, missing=_explain_missing(row, removed.get(session_id)))
    place = {"session_id": turn.session_id, "session": session, "turn": turn, "turn_number": turn.turn_number}
    if turn.id in hidden:
        sentence = _("The message is not shown: somebody in this conversation has opted out.")
        return Evidence(**place, missing=sentence, is_withheld=True)
    if not turn.user_message_id:
        return Evidence(**place, missing=_("No message began this turn: the agent spoke first."))
    if not turn.user_length:
        return Evidence(**place, missing=_("The message has no text. It may be a picture or a file."))
    return Evidence(**place, message=_build_user_message(turn))


def _explain_missing(row, why):
    """The reason why there is no turn, as a sentence."""
    if not row.turn_id:
        return str(NOT_REPORTED if getattr(row, "earliest_at", None) is not None else NOT_NAMED)
    if why is None:
        return _("The message is not stored: its record was removed, or was never imported.")
    if why == RemovedSession.Why.ARCHIVE:
        return _("The message is not stored any more: its session was moved to an archive.")
    return _("The message is not stored any more: its session was removed because of its age.")


def _build_user_message(turn: Any) -> Message:
    prompt, words = injecting.split_injected(turn.user_words)
    kind = turn.sender.get("injected") or (prompt.kind if prompt else "")
    automatic = str(INJECTED_WORDS.get(kind, kind)) if kind else ""
    if prompt and prompt.name:
        automatic = _("%(kind)s: %(name)s") % {"kind": automatic, "name": prompt.name}
    prefix = len(turn.user_words) - len(words)
    return Message(
        role="user",
        text=words or turn.user_words,
        length=turn.user_length - (prefix if words else 0),
        turn_number=turn.turn_number,
        record_id=turn.user_message_id,
        at=turn.created_at,
        author="" if automatic else get_speaker_name(turn),
        injected=str(kind),
        automatic=automatic,
    )
