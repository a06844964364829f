"""Down a branch with its samples: which turns stand before each reply, in every history that an export can have."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from .. import changes
from ..changes import NO_CHANGES, Changes
from ..outcomes import AFTER_GAP, BEYOND_ROW, DUPLICATE, INTERRUPTED, NOT_APPROVED, RESTS_ON_TOOLS, SAME_TURN
from ..samples import ExportSample, Pair, is_cut
from . import histories
from .exchanges import Exchange
from .spelling import Spelling
from .truncation import compute_share, truncate_text
from .turns import BranchMessage, Turn, is_judged, split_turns

# Whether an exchange, in one of its spellings as question and answer, is taught on another side of the split.
Elsewhere = Callable[[Set[Pair]], bool]


def is_taught_nowhere(_pairs: Set[Pair]) -> bool:
    """The answer of an export with one side."""
    return False


@dataclass(slots=True)
class SampleConversation:
    """The exchanges that end with the reply of a sample: see made.Made, which is this as a row."""

    sample: ExportSample
    exchanges: list[Exchange] | None
    changes: Changes = NO_CHANGES
    others: Sequence[ExportSample] = ()
    left_out: str = ""


def build_conversations(
    samples: Iterable[ExportSample],
    messages: Iterable[BranchMessage],
    spelling: Spelling,
    *,
    characters: int,
    history: str = histories.EDITED,
    withheld: Set[str] = NO_CHANGES,
    excluded: Set[str] = NO_CHANGES,
    elsewhere: Elsewhere = is_taught_nowhere,
) -> Iterator[SampleConversation]:
    """What becomes of each sample of one session: see `histories` for what stands before its reply.

    Samples and turns come in the order of their numbers, are read once and side by side, and no more is kept than a
    row may hold. A turn that is not on the branch as it was judged (any more) is rebuilt from what the sample itself
    holds. A turn with a change of `withheld` is in no other turn's row, and neither is one with a reason of `excluded`;
    with INTERRUPTED among these, a run that was cut in two is told in the turn that has its answer. No context holds
    an exchange that is taught `elsewhere`.
    """
    walk = WALKS[history](spelling, characters, withheld)
    joins = INTERRUPTED in excluded
    found = split_turns(messages, spelling, tools=RESTS_ON_TOOLS not in withheld, joins_interrupted=joins)
    turns = _without_crossing(walk, found)
    walk.excluded, walk.elsewhere = excluded, elsewhere
    turn = next(turns, None)
    for sample in samples:
        while turn and (turn.number or 0) < (sample.turn_number or 0):
            walk.leave(turn)
            turn = next(turns, None)
        if sample.is_duplicate:
            yield walk.passed(sample)
        elif turn and is_judged(turn, sample):
            is_open = joins and turn.is_interrupted
            yield from [SampleConversation(sample, None, left_out=INTERRUPTED)] if is_open else walk.made(sample, turn)
        else:
            yield walk.rebuilt(sample)
    yield from walk.rest()


def _without_crossing(walk, turns):
    """The same turns; the walk begins anew where the session was reset, once the turn before was left."""
    for turn in turns:
        if turn.is_after_reset:
            walk.begin_anew()
        yield turn


class EditedHistory:
    """Before a reply stand the turns before it, as far back as all of them are approved, with their edits."""

    TRAIN: bool | None = None  # how the turn of a sample is marked

    def __init__(self, spelling: Spelling, characters: int, withheld: Set[str]):
        self.spelling = spelling
        self.characters = characters
        self.withheld = withheld
        self.excluded: Set[str] = NO_CHANGES
        self.elsewhere: Elsewhere = is_taught_nowhere
        self.latest = histories.RecentExchanges(characters)
        self.begins = ""  # the change to name when earlier turns are left out
        self.approved: tuple[int, Exchange] | None = None
        self.duplicate: int | None = None  # the number of the last turn whose sample is left out as one

    def leave(self, turn: Turn) -> None:
        """Go one turn further down the branch."""
        number, exchange = self.approved or (None, None)
        if not exchange or number != turn.number:
            self.latest.clear()
            self.begins = self._beginning(turn)
        else:
            self._go_past(exchange)

    def begin_anew(self) -> None:
        """Forget what was said: the session was reset, and the agent saw nothing of it from here on."""
        self.latest.clear()
        self.begins = ""

    def made(self, sample: ExportSample, turn: Turn) -> Iterator[SampleConversation]:
        """The row of a sample of the turn that comes next."""
        own = self._own(sample, turn.asked, turn, turn.changes)
        if sample.is_approved:
            self.approved = sample.turn_number or 0, own
        yield self._made(sample, own, self.latest)

    def passed(self, sample: ExportSample) -> SampleConversation:
        """A sample that another one of the export is like: its turn is not taught again before other replies."""
        self.duplicate = sample.turn_number
        return SampleConversation(sample, None, left_out=DUPLICATE)

    def rebuilt(self, sample: ExportSample) -> SampleConversation:
        """The row of a sample whose turn is not on the branch: what stands before it there is not known."""
        own = self._own(sample, sample.user_text, Turn(None, sample.user_text), {changes.REBUILT})
        done = {changes.HISTORY_BEGINS_LATER} if sample.context else set()
        return SampleConversation(sample, [own], _edited(sample, done))

    def rest(self) -> Iterable[SampleConversation]:
        """What is still to be told of the session."""
        return ()

    def _beginning(self, turn):
        """The change to name when a turn is not taught, and what follows it begins anew."""
        is_duplicate = turn.number == self.duplicate
        return changes.HISTORY_AFTER_DUPLICATE if is_duplicate else changes.HISTORY_BEGINS_LATER

    def _made(self, sample, own, latest):
        exchanges, is_shortened = latest.before(own)
        left_out = changes.HISTORY_SHORTENED if is_shortened else self.begins
        return SampleConversation(sample, [*exchanges, own], _edited(sample, {left_out} if left_out else set()))

    def _go_past(self, exchange):
        """Let an exchange stand before what follows, or begin after it when it may be in no row but its own."""
        if withheld := exchange.changes & self.withheld:
            self.latest.clear()
            self.begins = _begins_after(withheld)
        else:
            self.latest.append(exchange)

    def _own(self, sample, asked, turn, done):
        """The turn of a sample with its reply, its tool results cut where it would be too long for a row."""
        done = done | find_dropped_text(sample, turn)
        messages = [self.spelling.asked(asked), *turn.steps]
        room = self.characters - len(sample.reply)
        size = self.spelling.size(messages)
        if size > room:
            messages, size = self._with_shorter_results(messages, size, room, done)
            if size > room:
                done.add(changes.OVER_THE_BUDGET)
        messages.append(self.spelling.answered(sample.reply))
        return Exchange(messages, done, self.spelling, train=self.TRAIN)

    def _with_shorter_results(self, messages, size, room, done):
        """The same turn with its tool results cut to an equal share of the room that its words leave."""
        texts = [self.spelling.returned(message) for message in messages]
        results = [text for text in texts if text is not None]
        left = room - (size - sum(map(len, results)))
        share = compute_share(left, len(results))
        shorter = [
            message if text is None else self.spelling.shortened(message, truncate_text(text, share))
            for message, text in zip(messages, texts, strict=True)
        ]
        if (new_size := self.spelling.size(shorter)) < size:
            done.add(changes.TOOL_RESULTS_SHORTENED)
        return shorter, new_size


class SessionHistory(EditedHistory):
    """One row: the first approved turn and what follows it, up to a turn that is not approved, or as much as fits.

    A turn whose sample is left out as a duplicate ends a row, and what follows it begins another one.
    """

    def __init__(self, spelling: Spelling, characters: int, withheld: Set[str]):
        super().__init__(spelling, characters, withheld)
        self.exchanges: list[Exchange] = []
        self.samples: list[ExportSample] = []
        self.size = 0
        self.ended = ""  # why nothing more comes into a row
        self.complete: list[SampleConversation] = []

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

    def begin_anew(self) -> None:
        """End the row: what follows a reset is another conversation."""
        self._complete()
        self.begins = self.ended = ""

    def made(self, sample: ExportSample, turn: Turn) -> Iterator[SampleConversation]:
        """Take the turn into the row, or say why it is not in it."""
        if reason := self._why_not(sample):
            yield SampleConversation(sample, None, left_out=reason)
            return
        own = self._own(sample, turn.asked, turn, turn.changes)
        if self.samples and self.size + own.size > self.characters:
            self.ended = BEYOND_ROW
        withheld = own.changes & self.withheld
        if reason := self.ended or changes.choose_reason(withheld):
            if not self.samples:
                self.begins = self.begins or _begins_after(withheld)
            yield SampleConversation(sample, None, own.changes, left_out=reason)
            return
        self.exchanges.append(own)
        self.samples.append(sample)
        self.size += own.size

    def rest(self) -> Iterable[SampleConversation]:
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
        self.complete.append(SampleConversation(last, self.exchanges, frozenset(done), others))
        self.exchanges, self.samples, self.size = [], [], 0

    def _why_not(self, sample):
        if self.samples and self.samples[-1].turn_number == sample.turn_number:
            return SAME_TURN
        return self.ended or ("" if sample.is_approved else NOT_APPROVED)


class ContextHistory(EditedHistory):
    """Before a reply stand all turns before it as the transcript has them, marked as not to be learned."""

    TRAIN = True

    def __init__(self, spelling: Spelling, characters: int, withheld: Set[str]):
        super().__init__(spelling, characters, withheld)
        self.unanswered = histories.UnansweredWords(characters)
        self.skipped: set[str] = set()
        self.taught: Pair | None = None  # the last exchange that a row taught

    def leave(self, turn: Turn) -> None:
        """Go one turn further down the branch."""
        if turn.exclusion in self.excluded:
            self.skipped = {changes.PROMPTS_SKIPPED}
            return
        if turn.is_interrupted and INTERRUPTED in self.excluded:
            return  # the next turn tells its run
        asked, done = self.unanswered.joined(turn, turn.asked)
        exchange = histories.build_exchange(asked, turn, done, self.spelling, train=False)
        if exchange is None:
            if not self.unanswered.keep(turn):
                self.latest.is_shortened = True
            return
        self.unanswered.clear()
        # What this session teaches itself is taught on its side alone: most turns need no look.
        spellings = _spellings(turn, asked) - {self.taught}
        if spellings and self.elsewhere(spellings):
            self.latest.clear()
            self.begins = changes.HISTORY_ON_OTHER_SIDE
        else:
            self._go_past(exchange)

    def begin_anew(self) -> None:
        """Forget unanswered words as well."""
        super().begin_anew()
        self.unanswered.clear()

    def made(self, sample: ExportSample, turn: Turn) -> Iterator[SampleConversation]:
        """The row of a sample of the turn that comes next."""
        asked, done = self.unanswered.joined(turn, turn.asked)
        done = done | self.skipped
        self.taught = (turn.user_text, sample.reply)
        yield self._made(sample, self._own(sample, asked or sample.user_text, turn, done), self.latest)

    def rebuilt(self, sample: ExportSample) -> SampleConversation:
        """The row of a sample whose turn is not on the branch, with the words that the sample itself knows."""
        done = {changes.REBUILT, changes.CONTEXT_SHORTENED} if is_cut(sample.context) else {changes.REBUILT}
        alone = ContextHistory(self.spelling, self.characters, self.withheld)
        alone.elsewhere = self.elsewhere
        for turn in _turns_in(sample.context, done):
            alone.leave(turn)
        own = Turn(None, sample.user_text)
        asked, more = alone.unanswered.joined(own, sample.user_text)
        return alone._made(sample, self._own(sample, asked or sample.user_text, own, done | more), alone.latest)


WALKS: dict[str, type[EditedHistory]] = {
    histories.EDITED: EditedHistory,
    histories.SESSION: SessionHistory,
    histories.CONTEXT: ContextHistory,
}


def _begins_after(withheld):
    """The change to name when earlier turns are left out because of a turn with these changes."""
    return changes.HISTORY_AFTER_TOOLS if RESTS_ON_TOOLS in withheld else changes.HISTORY_WITHHELD


def find_dropped_text(sample: ExportSample, turn: Turn) -> set[str]:
    """What to name when the agent said more after its last call than the reply that was judged."""
    is_more = len(turn.answers) > 1 and "\n\n".join(turn.answers) != sample.agent_reply
    return {changes.TEXT_BEFORE_REPLY_DROPPED} if is_more else set()


def _spellings(turn, asked):
    """A turn as question and answer, as rows tell it and as a sample of it may."""
    answers = {"\n\n".join(turn.answers), *turn.answers}
    return {(question, answer) for question in (asked, turn.user_text) for answer in answers}


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
