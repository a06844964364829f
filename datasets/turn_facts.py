"""Facts about the turn of a sample: its prompt, its stop reason and its traits.

Traits say, among others, whether the reply rests on tools. All facts are stored when a sample is created.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from agents.models import Agent
from ledger.collectors import answers
from ledger.collectors.answers import UNTAUGHT, is_silent
from ledger.collectors.machine_prompts import prompt_kind
from ledger.collectors.records import Facts, find_injected_kind, read_facts
from ledger.models import ConversationTurn, Session, TranscriptEvent
from ledger.transcripts.trimming import full_record
from openclaw_web.batches import in_batches
from openclaw_web.sqlite.json_columns import decode

from . import models
from .models import DatasetSample
from .sample_texts import (
    ENVELOPE,
    GONE,
    IMAGES,
    INJECTED,
    INTERRUPTED,
    PICTURE,
    TOOLS,
    UNKNOWN_ENVELOPE,
    UNRECEIVED,
    UNRECOGNIZED,
)

SILENT = "silent"
FORKS = 500
COLUMNS = ["prompted_by", "reply_stop", "turn_traits"]


@dataclass(slots=True)
class TurnFacts:
    """The prompt that began a turn, the stop reason of its reply, and its traits."""

    prompt: str = ""
    stop: str = ""
    traits: str = GONE


def detect_prompt(user_text: str, reply: str) -> str:
    """The kind of OpenClaw's own prompt that begins with these words; empty: none.

    `silent` for a reply that is not to be sent.
    """
    return find_injected_kind(user_text) or (SILENT if is_silent(reply) else "")


def find_prompt(user: Facts, reply: Facts, session: Session) -> str:
    """The kind of OpenClaw's own prompt that a turn answers; `silent`, or empty.

    The record of the user and the session decide, which know more than the words.
    """
    kind = prompt_kind(user.sender, session.session_key, session.id)
    return kind or (SILENT if is_silent(reply.text) else "")


def find_exclusion(prompt: str, stop: str, turn_traits: str) -> str:
    """The reason why a turn is left out unless chosen, a key of words.EXCLUDED_WORDS; empty: none."""
    names = turn_traits.split()
    conditions = (
        (INJECTED, bool(prompt)),
        (UNKNOWN_ENVELOPE, UNRECOGNIZED in names),
        (INTERRUPTED, stop in models.INTERRUPTED),
        (PICTURE, IMAGES in names),
        (UNRECEIVED, UNRECEIVED in names),
    )
    return next((name for name, applies in conditions if applies), "")


def find_stored_exclusion(
    session: Session | None, user_metadata: str | None, agent_metadata: str | None, answer_state: str
) -> str:
    """The reason of `find_exclusion` as far as a turn's columns say it, without its records."""
    sender, reply = decode(user_metadata), decode(agent_metadata)
    kind = prompt_kind(sender, session.session_key, session.id) if session else str(sender.get("injected") or "")
    traits = (UNRECOGNIZED if sender.get("envelope") else "", UNRECEIVED if answer_state in UNTAUGHT else "")
    kind = kind or (SILENT if answer_state == answers.SILENT else "")
    return find_exclusion(kind, str(reply.get("stopReason") or ""), " ".join(traits))


def find_traits(user: Facts, reply: Facts, *, rests_on_tools: bool, answer_state: str) -> str:
    """The traits of a turn: names of sample_texts with blanks between them."""
    has_files = user.images or user.files or reply.images or reply.files
    is_odd = bool(user.sender.get("envelope"))
    conditions = (
        (TOOLS, rests_on_tools),
        (ENVELOPE, user.is_unwrapped),
        (UNRECOGNIZED, is_odd),
        (IMAGES, has_files),
        (UNRECEIVED, answer_state in UNTAUGHT),
    )
    return " ".join(name for name, applies in conditions if applies)


def find_resting_on_tools(db: str, turns: Collection[ConversationTurn]) -> set[str]:
    """The ids of the turns in which a tool answered before the reply.

    Results count on the branch of the turn.
    """
    answered = {(turn.session_id, turn.turn_number): turn for turn in turns if turn.agent_message_id}
    events = TranscriptEvent.objects.using(db).filter(session_id__in={session_id for session_id, _number in answered})
    ids = {turn.agent_message_id for turn in answered.values()}
    replies = {row[:2]: row[2] for row in events.filter(event_id__in=ids).values_list("session_id", "event_id", "seq")}
    results = events.filter(
        kind=TranscriptEvent.Kind.TOOL_RESULT, turn_number__in={number for _session_id, number in answered}
    )
    resting = set()
    for *place, seq, is_active in results.values_list("session_id", "turn_number", "seq", "is_active"):
        turn = answered.get(tuple(place))
        if turn and is_active >= turn.is_active and seq < replies.get((turn.session_id, turn.agent_message_id), 0):
            resting.add(turn.id)
    return resting


def read_columns(db: str, turn: ConversationTurn) -> dict[str, Any]:
    """COLUMNS of a sample of this turn that is created without its records."""
    turn_facts = dict(read_turn_facts(db, turn.session_id, [turn.turn_number])).get(turn.turn_number, TurnFacts())
    prompt = turn_facts.prompt or detect_prompt(turn.user_message_content, turn.agent_message_content)
    return build_columns(prompt, turn_facts.stop, turn_facts.traits)


def build_columns(prompt: str, stop: str, turn_traits: str) -> dict[str, Any]:
    """COLUMNS of a new sample."""
    return dict(zip(COLUMNS, (prompt, stop, turn_traits), strict=True))


def mark_repeated(agent: Agent) -> None:
    """Update which samples of an agent are of repeated turns.

    Only sessions that name a parent have some.
    """
    forks = list(Session.objects.using(agent.db).exclude(parents="").order_by("id").values_list("id", flat=True))
    for names in in_batches(forks, FORKS):
        samples = DatasetSample.objects.filter(agent_id=agent.agent_id, session_id__in=names, turn_id__isnull=False)
        if samples.exists():
            turns = ConversationTurn.objects.using(agent.db).filter(session_id__in=names, repeat_of__isnull=False)
            _mark_samples(samples, dict(turns.values_list("id", "repeat_of")))


def _mark_samples(samples, sources):
    changed = []
    for sample in samples.only("id", "turn_id", "repeat_of"):
        if sample.repeat_of != sources.get(sample.turn_id):
            sample.repeat_of = sources.get(sample.turn_id)
            changed.append(sample)
    DatasetSample.objects.bulk_update(changed, ["repeat_of"], batch_size=FORKS)


def read_turn_facts(db: str, session_id: str, numbers: Iterable[int]) -> Iterator[tuple[int, TurnFacts]]:
    """Yield the numbers of these turns of a session with the facts of their records.

    Turns that are not stored any more are left out.
    """
    turns = ConversationTurn.objects.using(db).filter(
        session_id=session_id, turn_number__in=numbers, agent_message_id__isnull=False
    )
    columns = ("id", "session_id", "turn_number", "user_message_id", "agent_message_id", "is_active", "answer_state")
    turns = list(turns.only(*columns, "agent_metadata"))
    records = _read_facts(
        db, session_id, [name for turn in turns for name in (turn.user_message_id, turn.agent_message_id)]
    )
    resting = find_resting_on_tools(db, turns)
    session = Session.objects.using(db).filter(id=session_id).only("id", "session_key").first()
    for turn in turns:
        user, reply = records.get(turn.user_message_id), records.get(turn.agent_message_id)
        if user and reply and session:
            turn_traits = find_traits(user, reply, rests_on_tools=turn.id in resting, answer_state=turn.answer_state)
            stop = find_stop(turn, reply)
            yield turn.turn_number, TurnFacts(find_prompt(user, reply, session), stop, turn_traits)


def find_stop(turn: ConversationTurn, reply: Facts) -> str:
    """The stop reason of a turn's reply; of one that the tool `message` sent, that of the agent's last message."""
    stop = turn.reply_details.get("stopReason") if turn.reply_details.get("sent") else reply.stop_reason
    return stop or ""


def _read_facts(db, session_id, record_ids):
    """The records of a session with these ids, as facts."""
    events = TranscriptEvent.objects.using(db).filter(session_id=session_id, event_id__in=set(record_ids))
    return {event.event_id: read_facts(full_record(event)) for event in events.iterator(chunk_size=50)}
