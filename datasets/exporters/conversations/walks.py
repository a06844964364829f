"""Down a branch with its samples: which turns stand before each reply, in every history that an export can have."""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from .. import changes
from ..changes import NONE, Changes
from ..made import AFTER_GAP, BEYOND_ROW, DUPLICATE, NOT_APPROVED, SAME_TURN
from ..samples import ExportSample, Pair
from . import histories
from .exchanges import AGENT, HUMAN, RESULT, Exchange, Message, size_of
from .turns import Said, Turn, turns_of

SHORTEST_RESULT = 200
CUT = "\n[… {count} characters left out …]"


@dataclass(slots=True)
class Told:
    """The exchanges that end with the reply of a sample: see made.Made, which is this as a row."""

    sample: ExportSample
    exchanges: list[Exchange] | None
    changes: Changes = NONE
    others: Sequence[ExportSample] = ()
    left_out: str = ""


def told(
    samples: Iterable[ExportSample],
    messages: Iterable[Said],
    *,
    characters: int,
    keep_text: bool = False,
    history: str = histories.EDITED,
    withheld: Set[str] = NONE,
) -> Iterator[Told]:
    """What becomes of each sample of one session: see `histories` for what stands before its reply.

    Samples and turns come in the order of their numbers, are read once and side by side, and no more is kept than a
    row may hold. A turn that is not on the branch (any more) is rebuilt from what the sample itself holds. A turn with
    a change of `withheld` is in no other turn's row.
    """
    walk = WALKS[history](characters, withheld)
    turns = turns_of(messages, keep_text=keep_text)
    turn = next(turns, None)
    for sample in samples:
        while turn and (turn.number or 0) < sample.turn_number:
            walk.leave(turn)
            turn = next(turns, None)
        if sample.is_duplicate:
            yield walk.passed(sample)
        elif turn and turn.number == sample.turn_number:
            yield from walk.made(sample, turn)
        else:
            yield walk.rebuilt(sample)
    yield from walk.rest()


class Edited:
    """Before a reply stand the turns before it, as far back as all of them are approved, with their edits."""

    def __init__(self, characters: int, withheld: Set[str]):
        self.characters = characters
        self.withheld = withheld
        self.latest = histories.Latest(characters)
        self.begins = ""  # the change to name when earlier turns are left out
        self.approved: tuple[int, Exchange] | None = None
        self.duplicate: int | None = None  # the number of the last turn whose sample is left out as one

    def leave(self, turn: Turn) -> None:
        """Go one turn further down the branch."""
        number, exchange = self.approved or (None, None)
        if not exchange or number != turn.number:
            self.latest.clear()
            self.begins = self._beginning(turn)
        elif exchange.changes & self.withheld:
            self.latest.clear()
            self.begins = changes.HISTORY_WITHHELD
        else:
            self.latest.append(exchange)

    def made(self, sample: ExportSample, turn: Turn) -> Iterator[Told]:
        """The row of a sample of the turn that comes next."""
        own = _own_exchange(sample, *_words(sample, turn), self.characters)
        if sample.is_approved:
            self.approved = sample.turn_number, own
        yield self._made(sample, own, self.latest)

    def passed(self, sample: ExportSample) -> Told:
        """A sample that another one of the export is like: its turn is not taught again before other replies."""
        self.duplicate = sample.turn_number
        return Told(sample, None, left_out=DUPLICATE)

    def rebuilt(self, sample: ExportSample) -> Told:
        """The row of a sample whose turn is not on the branch: what stands before it there is not known."""
        own = _own_exchange(sample, [_asked(sample)], {changes.REBUILT}, self.characters)
        done = {changes.HISTORY_BEGINS_LATER} if sample.context else set()
        return Told(sample, [own], _edited(sample, done))

    def rest(self) -> Iterable[Told]:
        """What is still to be told of the session."""
        return ()

    def _beginning(self, turn):
        """The change to name when a turn is not taught, and what follows it begins anew."""
        is_duplicate = turn.number == self.duplicate
        return changes.HISTORY_AFTER_DUPLICATE if is_duplicate else changes.HISTORY_BEGINS_LATER

    def _made(self, sample, own, latest):
        exchanges, is_shortened = latest.before(own)
        left_out = changes.HISTORY_SHORTENED if is_shortened else self.begins
        return Told(sample, [*exchanges, own], _edited(sample, {left_out} if left_out else set()))


class Session(Edited):
    """One row: the first approved turn and what follows it, up to a turn that is not approved, or as much as fits.

    A turn whose sample is left out as a duplicate ends a row, and what follows it begins another one.
    """

    def __init__(self, characters: int, withheld: Set[str]):
        super().__init__(characters, withheld)
        self.exchanges: list[Exchange] = []
        self.samples: list[ExportSample] = []
        self.size = 0
        self.ended = ""  # why nothing more comes into a row
        self.complete: list[Told] = []

    def leave(self, turn: Turn) -> None:
        """Go one turn further down the branch."""
        if self.ended or (self.samples and self.samples[-1].turn_number == turn.number):
            return
        if turn.number == self.duplicate:
            self._complete()
            self.begins = changes.HISTORY_AFTER_DUPLICATE
        elif not self.samples:
            self.begins = self.begins or changes.HISTORY_BEGINS_LATER
        else:
            self.ended = AFTER_GAP

    def made(self, sample: ExportSample, turn: Turn) -> Iterator[Told]:
        """Take the turn into the row, or say why it is not in it."""
        if reason := self._why_not(sample):
            yield Told(sample, None, left_out=reason)
            return
        own = _own_exchange(sample, *_words(sample, turn), self.characters)
        if self.samples and self.size + own.size > self.characters:
            self.ended = BEYOND_ROW
        if reason := self.ended or max(own.changes & self.withheld, default=""):
            if not self.samples:
                self.begins = self.begins or changes.HISTORY_WITHHELD
            yield Told(sample, None, left_out=reason)
            return
        self.exchanges.append(own)
        self.samples.append(sample)
        self.size += own.size

    def rest(self) -> Iterable[Told]:
        """The rows, when the session has any."""
        self._complete()
        return self.complete

    def _complete(self):
        """Nothing more comes into the row."""
        if not self.samples:
            return
        done = {self.begins} if self.begins else set()
        if any(sample.edited_reply is not None for sample in self.samples):
            done.add(changes.REPLY_EDITED)
        *others, last = self.samples
        self.complete.append(Told(last, self.exchanges, frozenset(done), others))
        self.exchanges, self.samples, self.size = [], [], 0

    def _why_not(self, sample):
        if self.samples and self.samples[-1].turn_number == sample.turn_number:
            return SAME_TURN
        return self.ended or ("" if sample.is_approved else NOT_APPROVED)


class Context(Edited):
    """Before a reply stand all turns before it as the transcript has them, marked as not to be learned."""

    def __init__(self, characters: int, withheld: Set[str]):
        super().__init__(characters, withheld)
        self.unanswered = histories.Unanswered(characters)

    def leave(self, turn: Turn) -> None:
        """Go one turn further down the branch."""
        messages, done = self.unanswered.joined(turn, turn.user_text)
        exchange = histories.told(messages, turn, done, train=False)
        if exchange is None:
            if not self.unanswered.keep(turn):
                self.latest.is_shortened = True
            return
        self.unanswered.clear()
        if exchange.changes & self.withheld:
            self.latest.clear()
            self.begins = changes.HISTORY_WITHHELD
        else:
            self.latest.append(exchange)

    def made(self, sample: ExportSample, turn: Turn) -> Iterator[Told]:
        """The row of a sample of the turn that comes next."""
        messages, done = self.unanswered.joined(turn, sample.user_text)
        yield self._made(sample, self._own(sample, messages, done | _dropped(sample, turn)), self.latest)

    def rebuilt(self, sample: ExportSample) -> Told:
        """The row of a sample whose turn is not on the branch, with the words that the sample itself knows."""
        done = {changes.REBUILT}
        alone = Context(self.characters, self.withheld)
        for turn in _turns_in(sample.context, done):
            alone.leave(turn)
        messages, more = alone.unanswered.joined(Turn(None, sample.user_text), sample.user_text)
        return alone._made(sample, self._own(sample, messages, done | more), alone.latest)

    def _own(self, sample, messages, done):
        return _own_exchange(sample, messages or [_asked(sample)], done, self.characters, train=True)


WALKS: dict[str, type[Edited]] = {histories.EDITED: Edited, histories.SESSION: Session, histories.CONTEXT: Context}


def _asked(sample):
    return {"from": HUMAN, "value": sample.user_text}


def _words(sample: ExportSample, turn: Turn) -> tuple[list[Message], set[str]]:
    """What was said and done in the turn of a sample before its reply, and what had to be done to it."""
    return [_asked(sample), *turn.steps], turn.changes | _dropped(sample, turn)


def _dropped(sample, turn):
    """Whether the agent said more after its last call than the reply that was judged."""
    is_more = len(turn.answers) > 1 and "\n\n".join(turn.answers) != sample.agent_reply
    return {changes.TEXT_BEFORE_REPLY_DROPPED} if is_more else set()


def _edited(sample, done):
    return frozenset(done if sample.edited_reply is None else {*done, changes.REPLY_EDITED})


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


def _own_exchange(
    sample: ExportSample, messages: list[Message], done: set[str], characters: int, train: bool | None = None
) -> Exchange:
    """The turn of a sample with its reply, its tool results cut where it would be too long for a row."""
    room = characters - len(sample.reply)
    size = size_of(messages)
    if size > room:
        messages, size = _with_shorter_results(messages, size, room, done)
        if size > room:
            done.add(changes.OVER_THE_BUDGET)
    return Exchange([*messages, {"from": AGENT, "value": sample.reply}], done, train)


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
