"""ShareGPT rows: a conversation up to a turn, ending with the reply to learn."""

from collections import deque
from collections.abc import Iterable, Iterator

from . import changes, gate, metadata
from .changes import NONE, Changes
from .conversations import AGENT, HUMAN, RESULT, Conversation, Exchange, Message, size_of
from .samples import ExportSample, GateAnswer, Pair
from .turns import Said, Turn, turns_of

COLUMNS = ("conversations", "system", "tools", *metadata.PLACE, *metadata.JUDGEMENT)
SHORTEST_RESULT = 200
CUT = "\n[… {count} characters left out …]"
Row = dict[str, object]


def reply_rows(
    samples: Iterable[ExportSample], messages: Iterable[Said], *, characters: int, keep_text: bool = False
) -> Iterator[tuple[ExportSample, Row, Changes]]:
    """A row for each sample of one session: the branch up to its turn, then its reply.

    Samples and turns come in the order of their numbers, are read once and side by side, and no more is kept than a
    row may hold. A turn that is not on the branch (any more) is rebuilt from what the sample itself holds.
    """
    history = History(characters)
    turns = turns_of(messages, keep_text=keep_text)
    turn = next(turns, None)
    exchange = history.exchange(turn) if turn else None
    for sample in samples:
        while turn and (turn.number or 0) < sample.turn_number:
            history.add(turn, exchange)
            turn = next(turns, None)
            exchange = history.exchange(turn) if turn else None
        if turn and turn.number == sample.turn_number:
            yield sample, *_reply_row(sample, history, turn, exchange)
        else:
            yield sample, *_rebuilt_row(sample, characters)


def gate_row(sample: ExportSample, decision: GateAnswer, *, characters: int) -> tuple[Row, Changes]:
    """The conversation as one question, and memory_gate's decision as its answer."""
    said, done = gate.conversation(sample, characters)
    question = {"from": HUMAN, "value": f"{gate.INSTRUCTION}\n{said}"}
    answer = {"from": AGENT, "value": gate.answer(decision)}
    return _row(sample, [Exchange([question, answer], done)]), NONE


class History:
    """The latest exchanges of a branch that together fit into a row, and the words nobody has answered yet."""

    def __init__(self, characters: int):
        self.characters = characters
        self.exchanges: deque[Exchange] = deque()
        self.size = 0
        self.is_shortened = False
        self.open: list[Message] = []
        self.open_changes: set[str] = set()

    def exchange(self, turn: Turn) -> Exchange | None:
        """A turn that comes next, with what was unanswered before it; None as long as it has no answer."""
        messages, done = self.joined(turn, turn.user_text)
        if not messages or not turn.answers:
            return None
        if len(turn.answers) > 1:
            done.add(changes.MESSAGES_MERGED)
        return Exchange([*messages, {"from": AGENT, "value": "\n\n".join(turn.answers)}], done)

    def add(self, turn: Turn, exchange: Exchange | None) -> None:
        """Go one turn further down the branch."""
        if exchange:
            self._append(exchange)
            self.open, self.open_changes = [], set()
            return
        self.open, self.open_changes = self.joined(turn, turn.user_text)
        if size_of(self.open) > self.characters:
            self.open, self.is_shortened = [], True
            self.open_changes -= {changes.OUTPUT_LOST, changes.OUTPUT_FLAGGED}  # they went with it

    def joined(self, turn: Turn, user_text: str) -> tuple[list[Message], set[str]]:
        """What is unanswered so far followed by this turn's words and tool calls, sides alternating."""
        done = self.open_changes | turn.changes
        has_text = bool(user_text.strip())
        if not has_text:
            done.add(changes.TEXTLESS_DROPPED)
        if not self.open:
            return ([{"from": HUMAN, "value": user_text}, *turn.steps] if has_text else []), done
        *before, last = self.open
        if has_text:
            done.add(changes.MESSAGES_MERGED)
            last = {"from": last["from"], "value": f"{last['value']}\n\n{user_text}"}
        return [*before, last, *turn.steps], done

    def fitting(self, characters: int) -> tuple[list[Exchange], bool]:
        """The latest exchanges that fit into `characters`, and whether older ones were left out."""
        size, first = self.size, 0
        while size > characters and first < len(self.exchanges):
            size -= self.exchanges[first].size
            first += 1
        return list(self.exchanges)[first:], self.is_shortened or first > 0

    def _append(self, exchange):
        self.exchanges.append(exchange)
        self.size += exchange.size
        while self.size > self.characters:
            self.size -= self.exchanges.popleft().size
            self.is_shortened = True


def _reply_row(sample, history, turn, exchange):
    if exchange and _is_told_by(exchange, sample, turn) and exchange.size <= history.characters:
        return _row_after(history, sample, exchange)
    own, done = history.joined(turn, sample.user_text)
    if len(turn.answers) > 1:
        done.add(changes.TEXT_BEFORE_REPLY_DROPPED)
    return _row_after(history, sample, _own_exchange(sample, own, done, history.characters))


def _is_told_by(exchange, sample, turn):
    """Whether the sample says what the transcript says: then both are one exchange."""
    return turn.user_text == sample.user_text and exchange.messages[-1]["value"] == sample.reply


def _rebuilt_row(sample, characters):
    history = History(characters)
    done = {changes.REBUILT}
    for turn in _turns_in(sample.context, done):
        history.add(turn, history.exchange(turn))
    own, more = history.joined(Turn(None, sample.user_text), sample.user_text)
    return _row_after(history, sample, _own_exchange(sample, own, done | more, characters))


def _turns_in(context: list[Pair], done: set[str]) -> Iterator[Turn]:
    """The turns that a sample's own context tells of; texts only."""
    turn = None
    for role, text in context:
        if role == "user":
            if turn:
                yield turn
            turn = Turn(None, text)
        elif turn:
            turn.answers.append(text)
        else:
            done.add(changes.OPENING_DROPPED)
    if turn:
        yield turn


def _own_exchange(sample, messages, done, characters):
    """The turn of a sample with its reply, its tool results cut where it would be too long for a row."""
    messages = messages or [{"from": HUMAN, "value": sample.user_text}]  # no words at all: the checks say so
    room = characters - len(sample.reply)
    size = size_of(messages)
    if size > room:
        messages, size = _with_shorter_results(messages, size, room, done)
        if size > room:
            done.add(changes.OVER_THE_BUDGET)
    return Exchange([*messages, {"from": AGENT, "value": sample.reply}], done)


def _row_after(history, sample, exchange):
    """The row: as much history as fits, then the sample's own exchange."""
    exchanges, is_shortened = history.fitting(history.characters - exchange.size)
    done = {changes.HISTORY_SHORTENED} if is_shortened else set()
    if sample.edited_reply is not None:
        done.add(changes.REPLY_EDITED)
    return _row(sample, [*exchanges, exchange]), frozenset(done)


def _with_shorter_results(messages, size, room, done):
    """The same turn with its tool results cut to an equal share of the room that its words leave."""
    results = [message for message in messages if message["from"] == RESULT]
    left = room - (size - size_of(results))
    share = max(SHORTEST_RESULT, left // len(results)) if results else 0
    shorter = [_shortened(message, share) if message["from"] == RESULT else message for message in messages]
    if (new_size := size_of(shorter)) < size:
        done.add(changes.TOOL_RESULTS_SHORTENED)
    return shorter, new_size


def _shortened(message, length):
    text = message["value"]
    mark = CUT.format(count=len(text) - length)
    if len(text) <= length + len(mark):
        return message
    return {"from": RESULT, "value": text[: length - len(mark)] + mark}


def _row(sample, exchanges):
    return {
        "conversations": Conversation(exchanges),
        "system": "",
        "tools": "[]",
        **metadata.place(sample),
        **metadata.judgement(sample),
    }
