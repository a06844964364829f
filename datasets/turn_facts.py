"""What is known of the turn of a sample beside its words: who prompted it, how its reply ended, what that rests on.

All of it is stored when a sample is created. Older samples are brought up to date before an export is built.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import transaction
from django.db.models import Q, QuerySet

from agents import databases
from agents.models import Agent
from ledger.collectors.machine_prompts import prompt_kind
from ledger.collectors.records import Facts, facts, injected, is_silent
from ledger.json_columns import object_in
from ledger.models import ConversationTurn, Session, TranscriptEvent, TranscriptEventIdentity
from ledger.transcripts.trimming import full_record

from .exporters import made
from .exporters.samples import ENVELOPE, GONE, IMAGES, TOOLS, UNRECOGNIZED
from .models import INTERRUPTED, DatasetSample

SILENT = "silent"
BATCH, FORKS = 200, 500
COLUMNS = ["prompted_by", "reply_stop", "turn_traits", "facts_version"]
VERSION = 1  # of the rules; samples with a lower one are read again


@dataclass(slots=True)
class Ended:
    """What the records of a turn say: which prompt began it, the stop reason of its reply, and its traits."""

    prompt: str = ""
    stop: str = ""
    traits: str = GONE

    @property
    def is_gone(self) -> bool:
        """Whether the turn was not there."""
        return self.traits == GONE


def prompted_by(user_text: str, reply: str) -> str:
    """Which prompt of OpenClaw's own begins with these words, `silent` for a reply that is not to be sent; or empty."""
    return injected(user_text) or (SILENT if is_silent(reply) else "")


def turn_prompt(user: Facts, reply: Facts, session: Session) -> str:
    """Which prompt of OpenClaw's own a turn of a session answers, by all that is known; `silent`, or empty."""
    kind = prompt_kind(user.sender, session.session_key, session.id)
    return kind or (SILENT if is_silent(reply.text) else "")


def exclusion(prompt: str, stop: str, turn_traits: str) -> str:
    """Why nobody is asked about a turn unless somebody chooses it: one of made.EXCLUDED; empty when nothing says so."""
    names = turn_traits.split()
    found = (
        (made.INJECTED, prompt not in ("", SILENT)),
        (made.UNKNOWN_ENVELOPE, UNRECOGNIZED in names),
        (made.INTERRUPTED, stop in INTERRUPTED),
        (made.PICTURE, IMAGES in names),
    )
    return next((name for name, is_so in found if is_so), "")


def stored_exclusion(session: Session | None, user_metadata: str | None, agent_metadata: str | None) -> str:
    """What `exclusion` says, as far as the columns of a turn tell it: without a look at its records."""
    sender, reply = object_in(user_metadata), object_in(agent_metadata)
    kind = prompt_kind(sender, session.session_key, session.id) if session else str(sender.get("injected") or "")
    traits = UNRECOGNIZED if sender.get("envelope") else ""
    return exclusion(kind, str(reply.get("stopReason") or ""), traits)


def traits(user: Facts, reply: Facts, *, rests_on_tools: bool) -> str:
    """The names of exporters.samples that go for a turn, with blanks between them."""
    has_files = user.images or user.files or reply.images or reply.files
    is_odd = bool(user.sender.get("envelope"))
    found = ((TOOLS, rests_on_tools), (ENVELOPE, user.is_unwrapped), (UNRECOGNIZED, is_odd), (IMAGES, has_files))
    return " ".join(name for name, is_so in found if is_so)


def resting_on_tools(db: str, turns: Collection[ConversationTurn]) -> set[str]:
    """The ids of those turns of one session in which a tool answered before the reply, on the branch of the turn."""
    by_number = {turn.turn_number: turn for turn in turns if turn.agent_message_id}
    if not by_number:
        return set()
    session_id = next(iter(turns)).session_id
    replies = _places(db, session_id, [turn.agent_message_id for turn in by_number.values()])
    results = TranscriptEvent.objects.using(db).filter(
        session_id=session_id, kind=TranscriptEvent.Kind.TOOL_RESULT, turn_number__in=by_number
    )
    return {
        turn.id
        for number, seq, is_active in results.values_list("turn_number", "seq", "is_active")
        if (turn := by_number[number]) and seq < replies.get(turn.agent_message_id, 0) and is_active >= turn.is_active
    }


def of_turn(db: str, turn: ConversationTurn) -> dict[str, Any]:
    """COLUMNS of a sample of this turn that is not made of its records."""
    ended = dict(_of_session(db, turn.session_id, [turn.turn_number])).get(turn.turn_number, Ended())
    prompt = ended.prompt or prompted_by(turn.user_message_content, turn.agent_message_content)
    return columns(prompt, ended.stop, ended.traits)


def columns(prompt: str, stop: str, turn_traits: str) -> dict[str, Any]:
    """COLUMNS of a sample that is new."""
    return dict(zip(COLUMNS, (prompt, stop, turn_traits, VERSION), strict=True))


def fill(samples: QuerySet[DatasetSample]) -> int:
    """Store all of it for every one of these samples that lacks something, or has it by older rules; how many.

    What is not known of a turn that is gone stays unknown: its stop reason is stored as nothing, its traits as gone.
    """
    lacking = Q(prompted_by=None) | Q(turn_traits=None) | Q(facts_version=None) | Q(facts_version__lt=VERSION)
    missing = samples.filter(lacking, turn_number__isnull=False).order_by("agent_id", "session_id", "id")
    wanted = ("id", "agent_id", "session_id", "turn_number", "content", *COLUMNS)
    count = 0
    while batch := list(missing.only(*wanted)[:BATCH]):
        found = _found(batch)
        for sample in batch:
            _fill_in(sample, found.get((sample.agent_id, sample.session_id, sample.turn_number), Ended()))
        with transaction.atomic():
            DatasetSample.objects.bulk_update(batch, COLUMNS)
        count += len(batch)
    return count


def mark_repeated(agent: Agent) -> None:
    """Bring the samples of an agent up to which turns are repeated: only sessions that name a parent have some."""
    forks = list(Session.objects.using(agent.db).exclude(parents="").order_by("id").values_list("id", flat=True))
    for start in range(0, len(forks), FORKS):
        names = forks[start : start + FORKS]
        samples = DatasetSample.objects.filter(agent_id=agent.agent_id, session_id__in=names, turn_id__isnull=False)
        if samples.exists():
            turns = ConversationTurn.objects.using(agent.db).filter(session_id__in=names, repeat_of__isnull=False)
            _mark(samples, dict(turns.values_list("id", "repeat_of")))


def _mark(samples, sources):
    changed = []
    for sample in samples.only("id", "turn_id", "repeat_of"):
        if sample.repeat_of != sources.get(sample.turn_id):
            sample.repeat_of = sources.get(sample.turn_id)
            changed.append(sample)
    DatasetSample.objects.bulk_update(changed, ["repeat_of"], batch_size=FORKS)


def _fill_in(sample, ended):
    is_old = (sample.facts_version or 0) < VERSION
    if sample.prompted_by is None or (is_old and not sample.prompted_by):
        body = _body(sample)
        sample.prompted_by = ended.prompt or prompted_by(_text(body, "userMessage"), _text(body, "agentReply"))
    if sample.reply_stop is None:
        sample.reply_stop = ended.stop
    if sample.turn_traits is None or (is_old and not ended.is_gone):
        sample.turn_traits = ended.traits
    sample.facts_version = VERSION


def _found(batch):
    """What the records of each turn say, by agent, session and number of the turn."""
    wanted = defaultdict(set)
    for sample in batch:
        wanted[sample.agent_id, sample.session_id].add(sample.turn_number)
    found = {}
    for (agent_id, session_id), numbers in wanted.items():
        try:
            db = databases.alias(agent_id)
        except (databases.UnknownAgent, databases.OldAgentFile):
            continue
        for number, ended in _of_session(db, session_id, numbers):
            found[agent_id, session_id, number] = ended
    return found


def _of_session(db, session_id, numbers) -> Iterable[tuple[int, Ended]]:
    turns = ConversationTurn.objects.using(db).filter(
        session_id=session_id, turn_number__in=numbers, agent_message_id__isnull=False
    )
    turns = list(turns.only("id", "session_id", "turn_number", "user_message_id", "agent_message_id", "is_active"))
    records = _records(
        db, session_id, [name for turn in turns for name in (turn.user_message_id, turn.agent_message_id)]
    )
    resting = resting_on_tools(db, turns)
    session = Session.objects.using(db).filter(id=session_id).only("id", "session_key").first()
    for turn in turns:
        user, reply = records.get(turn.user_message_id), records.get(turn.agent_message_id)
        if user and reply and session:
            known = traits(user, reply, rests_on_tools=turn.id in resting)
            yield turn.turn_number, Ended(turn_prompt(user, reply, session), reply.stop_reason or "", known)


def _records(db, session_id, record_ids):
    """The records of a session with these ids, as facts."""
    names = {seq: name for name, seq in _places(db, session_id, record_ids).items()}
    events = TranscriptEvent.objects.using(db).filter(session_id=session_id, seq__in=names)
    return {names[event.seq]: facts(full_record(event)) for event in events.iterator(chunk_size=50)}


def _places(db, session_id, record_ids):
    """Where the records of a session with these ids are, by id."""
    places = TranscriptEventIdentity.objects.using(db).filter(session_id=session_id, event_id__in=set(record_ids))
    return dict(places.values_list("event_id", "seq"))


def _body(sample):
    try:
        body = orjson.loads(sample.content)
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) else {}


def _text(body, name):
    value = body.get(name)
    return value if isinstance(value, str) else ""
