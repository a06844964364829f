"""Reads the texts of turns of one session, in order and in batches, with the turns before them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ledger import consent
from ledger.collectors import answers
from ledger.collectors.machine_prompts import prompt_kind
from ledger.collectors.records import read_facts, read_message_facts
from ledger.collectors.senders import NAMES, find_sender_ids, is_opted_out
from ledger.models import ConversationTurn, Session, TranscriptEvent
from ledger.transcripts.origins import find_conversation
from ledger.transcripts.trimming import untrim
from openclaw_web.sqlite.json_columns import decode

from .turn_texts import LONGEST, CallTexts, TurnTexts

WINDOW = 10  # turns before a turn that are its sources, too
TURNS, RECORDS = 50, 1_000  # of one batch
MOST_RECORDS = 2_000  # of a turn that is read; a longer one is closed
MOST_SENDERS = 2_000  # names of people of an agent
KINDS = ("user", "assistant", "tool_result")
COLUMNS = ("seq", "event_id", "kind", "turn_number", "trim_json", "event_json", "full_zstd")


@dataclass(slots=True)
class SessionReader:
    """Reads turns of a session. `turns` are rows of its active turns that are no copies, in order.

    `db` is the alias of the agent's file, `find_people(at)` the names of those who wrote to the agent until then.
    """

    db: str
    session: Session
    find_people: Callable[[int], Collection[str]]

    def read(self, turns: Sequence[ConversationTurn], chosen: Collection[str]) -> Iterator[TurnTexts]:
        """Yield the texts of the `chosen` turns, by id, with up to ten turns before each among its sources."""
        known: dict[str, TurnTexts] = {}
        places = [place for place, turn in enumerate(turns) if turn.id in chosen]
        for batch in _split(turns, places):
            around = range(max(0, batch[0] - WINDOW), min(len(turns), batch[-1] + 2))
            near = {turns[at].id for place in batch for at in range(max(0, place - WINDOW), place + 2) if at in around}
            known = {name: texts for name, texts in known.items() if name in near}
            missing = [turns[at] for at in around if turns[at].id in near and turns[at].id not in known]
            known |= self._read_turns(missing)
            for place in batch:
                texts = known[turns[place].id]
                texts.earlier = [known[turn.id] for turn in turns[max(0, place - WINDOW) : place]]
                if place + 1 < len(turns):
                    texts.next_question = known[turns[place + 1].id].question
                yield texts
                texts.earlier = ()  # otherwise each turn would hold all before it

    def _read_turns(self, turns):
        texts_by_id = {turn.id: self._build_texts(turn) for turn in turns}
        withheld = consent.find_withheld(self.db, turns)
        readable = {turn.turn_number: turn for turn in turns if not texts_by_id[turn.id].is_closed}
        readable = {number: turn for number, turn in readable.items() if turn.id not in withheld}
        for turn in turns:
            texts_by_id[turn.id].is_closed |= turn.id in withheld
        rows = TranscriptEvent.objects.using(self.db).filter(session_id=self.session.id, kind__in=KINDS, is_active=True)
        rows = rows.filter(turn_number__in=readable, seq__gte=min((turn.first_seq for turn in turns), default=0))
        messages: dict[int, list[Any]] = {number: [] for number in readable}
        for row in rows.order_by("seq").values_list(*COLUMNS).iterator(chunk_size=200):
            _seq, event_id, kind, number, trim_json, event_json, full_zstd = row
            record = untrim(event_json, full_zstd)
            message = read_facts(record) if kind == "assistant" else read_message_facts(record)
            messages[number].append((event_id, message, bool(trim_json) and '"stashed"' in trim_json))
        conversation = find_conversation(self.session)
        for number, turn in readable.items():
            _fill_texts(texts_by_id[turn.id], turn, messages[number], conversation)
        return texts_by_id

    def _build_texts(self, turn):
        sender = decode(turn.user_metadata)
        texts = TurnTexts(turn.id, turn.turn_number, turn.created_at, find_people=self.find_people)
        texts.senders = find_sender_ids(sender)
        prompt = prompt_kind(sender, self.session.session_key, self.session.id)
        is_long = turn.record_count > MOST_RECORDS
        texts.is_closed = bool(prompt) or turn.answer_state == answers.SILENT or not turn.user_message_id or is_long
        return texts


def build_people_finder(db: str) -> Callable[[int], Collection[str]]:
    """A function that finds the names of people who had written to an agent at a time, in milliseconds.

    It reads them when it is first called. Nobody who opted out is among them.
    """

    @cache
    def read_people():
        rows = ConversationTurn.objects.using(db).filter(user_metadata__isnull=False).order_by("created_at")
        opted_out, people = consent.read_opted_out(), {}
        for metadata, at in rows.values_list("user_metadata", "created_at").iterator(chunk_size=1_000):
            sender = decode(metadata)
            for name in {str(sender[key]) for key in NAMES if sender.get(key)} - people.keys():
                if len(people) < MOST_SENDERS and not is_opted_out([name], opted_out):
                    people[name] = at
        return people

    return lambda at: [name for name, first in read_people().items() if first <= at]


def _split(turns, places) -> Iterator[list[int]]:
    """Places in batches with a bounded number of records."""
    batch: list[int] = []
    count = 0
    for place in places:
        if batch and (len(batch) >= TURNS or count + turns[place].record_count > RECORDS):
            yield batch
            batch, count = [], 0
        batch.append(place)
        count += turns[place].record_count
    if batch:
        yield batch


def _fill_texts(texts, turn, messages, conversation):
    """Set the texts of a turn from its messages: triples of id, facts, and whether a part is an artifact."""
    user = next((message for event_id, message, _p in messages if event_id == turn.user_message_id), None)
    own = [entry for entry in messages if entry[1].kind != "user"]
    if user is None:
        texts.is_closed = True
        return
    texts.question = texts.cut(user.text)
    answer = answers.find_answer([message for _id, message, _p in own], conversation)
    texts.set_reply(answer.text)
    if answer.place is not None:
        texts.reply_id, texts.stop = own[answer.place][0] or "", own[answer.place][1].stop_reason or ""
    elif own and own[-1][1].kind == "assistant":
        texts.stop = own[-1][1].stop_reason or ""
    sent = {call_id for _place, call_id in answer.sent}
    calls: dict[str, CallTexts] = {}
    room = 10 * LONGEST
    for event_id, message, is_stashed in own:
        for call in message.calls:
            if call.id not in sent:
                texts.calls.append(CallTexts(call.id, call.name, call.arguments, event_id or ""))
                calls[call.id] = texts.calls[-1]
        if message.kind == "tool_result":
            texts.is_partial |= is_stashed or room <= 0
            result = texts.cut(message.text)[: max(0, room)]
            room -= len(result)
            if call := calls.get(message.tool_call_id or ""):
                call.result, call.is_failed = result, message.is_failed
