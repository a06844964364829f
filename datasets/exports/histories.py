"""Builds the conversations of a session's samples, for every history of an export.

A walk goes down the branch with its samples, and knows which turns stand before each reply.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ..markers import cut_before_marker
from ..sample_texts import INTERRUPTED, ExportSample, Pair
from . import changes
from .changes import AFTER_GAP, BEYOND_ROW, NO_CHANGES, NOT_APPROVED, RESTS_ON_TOOLS, SAME_TURN, Changes
from .dialects import AGENT, USER, Dialect, build_answer
from .exchanges import Exchange
from .turns import Turn, is_judged, split_turns

# Approved turns with their edits; the same, all of a session in one row; every turn, marked as not to be learned.
EDITED, SESSION, CONTEXT = HISTORIES = ("edited", "session", "context")
# Whether an exchange, as one of these pairs of question and answer, is taught on another side of the split.
Elsewhere = Callable[[Set[Pair]], bool]


def is_taught_nowhere(_pairs: Set[Pair]) -> bool:
    """False: an export with one side teaches no exchange on another one."""
    return False


@dataclass(slots=True)
class SampleConversation:
    """The exchanges that end with the reply of a sample.

    rows.SampleOutcome is the same as a row.
    """

    sample: ExportSample
    exchanges: list[Exchange] | None
    changes: Changes = NO_CHANGES
    others: Sequence[ExportSample] = ()
    left_out: str = ""


def build_conversations(
    samples: Iterable[ExportSample],
    messages: Iterable[Any],
    dialect: Dialect,
    *,
    characters: int,
    history: str = EDITED,
    withheld: Set[str] = NO_CHANGES,
    excluded: Set[str] = NO_CHANGES,
    is_split: bool = False,
    elsewhere: Elsewhere = is_taught_nowhere,
) -> Iterator[SampleConversation]:
    """Build the conversation of each sample of one session.

    `history` is one of HISTORIES. Samples and turns come in the order of their numbers, are read once and
    side by side, and no more is held in memory than a row of `characters` may have. A turn that is not on the branch as
    it was judged (any more) is rebuilt from the sample itself. A turn with a change of `withheld` is in no other turn's
    row, and neither is one with a reason of `excluded`; with INTERRUPTED among these, a run that was cut in two stands
    in the turn that has its answer. No context holds an exchange that is taught `elsewhere`.
    """
    walk = WALKS[history](dialect, characters, withheld)
    joins = INTERRUPTED in excluded
    has_tools = RESTS_ON_TOOLS not in withheld
    branch_turns = split_turns(messages, dialect, is_split=is_split, tools=has_tools, joins_interrupted=joins)
    turns = _reset_between(walk, branch_turns)
    walk.excluded, walk.elsewhere = excluded, elsewhere
    turn = next(turns, None)
    for sample in samples:
        while turn and (turn.number or 0) < (sample.turn_number or 0):
            walk.leave(turn)
            turn = next(turns, None)
        if sample.left_out:
            yield walk.passed(sample)
        elif turn and is_judged(turn, sample):
            is_open = joins and turn.is_interrupted
            yield from [SampleConversation(sample, None, left_out=INTERRUPTED)] if is_open else walk.made(sample, turn)
        else:
            yield walk.rebuilt(sample)
    yield from walk.rest()


def _reset_between(walk, turns):
    """The same turns; the walk begins anew where the session was reset.

    The walk has left the turn before the reset by then.
    """
    for turn in turns:
        if turn.is_after_reset:
            walk.begin_anew()
        yield turn


class EditedHistory:
    """A history of the turns before a reply with their edits, while all are approved.

    It goes back as far as every turn is approved.
    """

    TRAIN: bool | None = None  # how the turn of a sample is marked

    def __init__(self, dialect: Dialect, characters: int, withheld: Set[str]):
        self.dialect = dialect
        self.characters = characters
        self.withheld = withheld
        self.excluded: Set[str] = NO_CHANGES
        self.elsewhere: Elsewhere = is_taught_nowhere
        self.latest = RecentExchanges(characters)
        self.begins = ""  # the change to name when earlier turns are left out
        self.approved: tuple[int, Exchange] | None = None
        self.duplicate: int | None = None  # the number of the last turn whose sample is left out as a duplicate

    def leave(self, turn: Turn) -> None:
        """Go one turn further down the branch."""
        number, exchange = self.approved or (None, None)
        if not exchange or number != turn.number:
            self.latest.clear()
            # The change to name when the history begins after a turn that is not taught.
            is_duplicate = turn.number == self.duplicate
            self.begins = changes.HISTORY_AFTER_DUPLICATE if is_duplicate else changes.HISTORY_BEGINS_LATER
        else:
            self._pass_exchange(exchange)

    def begin_anew(self) -> None:
        """Forget the history: after a reset of the session the agent saw none of it."""
        self.latest.clear()
        self.begins = ""

    def made(self, sample: ExportSample, turn: Turn) -> Iterator[SampleConversation]:
        """The conversation of a sample of the next turn."""
        own = self._build_own_exchange(sample, turn.question, turn, turn.changes)
        if sample.is_approved:
            self.approved = sample.turn_number or 0, own
        yield self._build_conversation(sample, own, self.latest)

    def passed(self, sample: ExportSample) -> SampleConversation:
        """The result for a duplicate or a sample over a cap; its turn is not taught before other replies."""
        self.duplicate = sample.turn_number
        return SampleConversation(sample, None, left_out=sample.left_out)

    def rebuilt(self, sample: ExportSample) -> SampleConversation:
        """The conversation of a sample whose turn is not on the branch.

        The turns that stood before it are not known.
        """
        own = self._build_own_exchange(sample, sample.user_text, Turn(None, sample.user_text), {changes.REBUILT})
        done = {changes.HISTORY_BEGINS_LATER} if sample.context else set()
        return SampleConversation(sample, [own], _add_edit_change(sample, done))

    def rest(self) -> Iterable[SampleConversation]:
        """The conversations that are complete only at the end of the session."""
        return ()

    def _build_conversation(self, sample, own, latest):
        exchanges, is_shortened = latest.before(own)
        left_out = changes.HISTORY_SHORTENED if is_shortened else self.begins
        return SampleConversation(
            sample, [*exchanges, own], _add_edit_change(sample, {left_out} if left_out else set())
        )

    def _pass_exchange(self, exchange):
        """Add an exchange to the history, or begin after it if it is withheld.

        A withheld exchange may be in no row but its own.
        """
        if withheld := exchange.changes & self.withheld:
            self.latest.clear()
            self.begins = _choose_history_change(withheld)
        else:
            self.latest.append(exchange)

    def _build_own_exchange(self, sample, question, turn, done):
        """The exchange of a sample's own turn, with the reply to learn.

        Its tool results are cut where it would be too long for a row.
        """
        done = done | find_dropped_text(sample, turn)
        messages = [self.dialect.build(USER, question), *turn.steps]
        room = self.characters - len(sample.reply)
        size = self.dialect.size(messages)
        if size > room:
            # The messages with their tool results cut to equal shares, and their size.
            role, key = self.dialect.role, self.dialect.text
            results = [message[key] for message in messages if message[role] == self.dialect.result]
            results_room = room - (size - sum(map(len, results)))
            share = compute_share(results_room, len(results))
            shorter = [
                message | {key: truncate_text(message[key], share)} if message[role] == self.dialect.result else message
                for message in messages
            ]
            if (new_size := self.dialect.size(shorter)) < size:
                done.add(changes.TOOL_RESULTS_SHORTENED)
            messages, size = shorter, new_size
            if size > room:
                done.add(changes.OVER_THE_BUDGET)
        messages.append(build_answer(self.dialect, sample.reply, sample))
        return Exchange(messages, done, self.dialect, train=self.TRAIN)


class SessionHistory(EditedHistory):
    """One row for a session: an approved turn and the approved turns that follow.

    The row ends at a turn that is not approved, or when it is full. A turn whose sample is left out as a duplicate ends
    a row, and another row begins after it.
    """

    def __init__(self, dialect: Dialect, characters: int, withheld: Set[str]):
        super().__init__(dialect, characters, withheld)
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
            self._finish_row()
            self.begins = changes.HISTORY_AFTER_DUPLICATE
        elif not self.samples:
            self.begins = self.begins or changes.HISTORY_BEGINS_LATER
        else:
            self.ended = AFTER_GAP

    def begin_anew(self) -> None:
        """End the row: what follows a reset is another conversation."""
        self._finish_row()
        self.begins = self.ended = ""

    def made(self, sample: ExportSample, turn: Turn) -> Iterator[SampleConversation]:
        """Add the turn to the row, or yield the reason for leaving it out."""
        if reason := self._find_exclusion(sample):
            yield SampleConversation(sample, None, left_out=reason)
            return
        own = self._build_own_exchange(sample, turn.question, turn, turn.changes)
        if self.samples and self.size + own.size > self.characters:
            self.ended = BEYOND_ROW
        withheld = own.changes & self.withheld
        if reason := self.ended or changes.choose_reason(withheld):
            if not self.samples:
                self.begins = self.begins or _choose_history_change(withheld)
            yield SampleConversation(sample, None, own.changes, left_out=reason)
            return
        self.exchanges.append(own)
        self.samples.append(sample)
        self.size += own.size

    def rest(self) -> Iterable[SampleConversation]:
        """The rows of the session, if it has any."""
        self._finish_row()
        return self.complete

    def _finish_row(self):
        """Finish the row, if it has any turn."""
        if not self.samples:
            return
        done = {self.begins} if self.begins else set()
        if any(sample.edited_reply is not None for sample in self.samples):
            done.add(changes.REPLY_EDITED)
        *others, last = self.samples
        self.complete.append(SampleConversation(last, self.exchanges, frozenset(done), others))
        self.exchanges, self.samples, self.size = [], [], 0

    def _find_exclusion(self, sample):
        if self.samples and self.samples[-1].turn_number == sample.turn_number:
            return SAME_TURN
        return self.ended or ("" if sample.is_approved else NOT_APPROVED)


class ContextHistory(EditedHistory):
    """A history of all turns before a reply, marked as not to be learned."""

    TRAIN = True

    def __init__(self, dialect: Dialect, characters: int, withheld: Set[str]):
        super().__init__(dialect, characters, withheld)
        self.unanswered = UnansweredWords(characters)
        self.skipped: set[str] = set()
        self.taught: Pair | None = None  # the last exchange that a row taught

    def leave(self, turn: Turn) -> None:
        """Go one turn further down the branch."""
        if turn.exclusion in self.excluded:
            self.skipped = {changes.PROMPTS_SKIPPED}
            return
        if turn.is_interrupted and INTERRUPTED in self.excluded:
            return  # the next turn holds its run
        question, done = self.unanswered.joined(turn, turn.question)
        if not question or not turn.answers or turn.is_unreceived:
            if not self.unanswered.keep(turn):
                self.latest.is_shortened = True
            return
        if len(turn.answers) > 1:
            done.add(changes.MESSAGES_MERGED)
        answer = self.dialect.build(AGENT, "\n\n".join(turn.answers))
        messages = [self.dialect.build(USER, question), *turn.steps, answer]
        exchange = Exchange(messages, done, self.dialect, train=False)
        self.unanswered.clear()
        # An exchange that this session teaches itself is taught on its side alone: most turns need no check.
        pairs = _list_pairs(turn, question) - {self.taught}
        if pairs and self.elsewhere(pairs):
            self.latest.clear()
            self.begins = changes.HISTORY_ON_OTHER_SIDE
        else:
            self._pass_exchange(exchange)

    def begin_anew(self) -> None:
        """Forget unanswered words as well."""
        super().begin_anew()
        self.unanswered.clear()

    def made(self, sample: ExportSample, turn: Turn) -> Iterator[SampleConversation]:
        """The conversation of a sample of the next turn."""
        question, done = self.unanswered.joined(turn, turn.question)
        done = done | self.skipped
        reply = sample.judged[1] if sample.edited_reply is None else sample.edited_reply
        self.taught = (turn.restore(turn.user_text), reply)
        yield self._build_conversation(
            sample, self._build_own_exchange(sample, question or sample.user_text, turn, done), self.latest
        )

    def rebuilt(self, sample: ExportSample) -> SampleConversation:
        """The conversation of a sample whose turn is not on the branch.

        The turns before it are those in the sample's own context.
        """
        done = {changes.REBUILT, changes.CONTEXT_SHORTENED} if sample.is_context_cut() else {changes.REBUILT}
        own_walk = ContextHistory(self.dialect, self.characters, self.withheld)
        own_walk.elsewhere = self.elsewhere
        for turn in _read_context_turns(sample.context, done):
            own_walk.leave(turn)
        own = Turn(None, sample.user_text)
        question, more = own_walk.unanswered.joined(own, sample.user_text)
        return own_walk._build_conversation(
            sample, self._build_own_exchange(sample, question or sample.user_text, own, done | more), own_walk.latest
        )


WALKS: dict[str, type[EditedHistory]] = {
    EDITED: EditedHistory,
    SESSION: SessionHistory,
    CONTEXT: ContextHistory,
}


def _choose_history_change(withheld):
    """The change to name when a history begins after a turn with these changes."""
    return changes.HISTORY_AFTER_TOOLS if RESTS_ON_TOOLS in withheld else changes.HISTORY_WITHHELD


def find_dropped_text(sample: ExportSample, turn: Turn) -> set[str]:
    """The change to name when the agent said more than the reply that was judged.

    More texts after its last call, that is.
    """
    is_more = len(turn.answers) > 1 and "\n\n".join(turn.judged_answers) != sample.judged[1]
    return {changes.TEXT_BEFORE_REPLY_DROPPED} if is_more else set()


def _list_pairs(turn, row_question):
    """The pairs of question and answer by which rows may teach this turn.

    They are as before redaction; only words that were joined to the question have markers.
    """
    answers = {"\n\n".join(turn.judged_answers), *turn.judged_answers}
    questions = {turn.restore(row_question), turn.restore(turn.user_text)}
    return {(question, answer) for question in questions for answer in answers}


def _add_edit_change(sample, done):
    return frozenset(done if sample.edited_reply is None else {*done, changes.REPLY_EDITED})


def _read_context_turns(context: list[Pair], done: set[str]) -> Iterator[Turn]:
    """The turns in a sample's own context, as texts only."""
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


class RecentExchanges:
    """The latest exchanges that together fit into a row."""

    def __init__(self, characters: int):
        self.characters = characters
        self.exchanges: deque[Exchange] = deque()
        self.size = 0
        self.is_shortened = False

    def append(self, exchange: Exchange) -> None:
        """Add the next exchange; the oldest ones are dropped when there is no room."""
        self.exchanges.append(exchange)
        self.size += exchange.size
        while self.size > self.characters:
            self.size -= self.exchanges.popleft().size
            self.is_shortened = True

    def clear(self) -> None:
        """Remove all exchanges."""
        self.exchanges.clear()
        self.size = 0
        self.is_shortened = False

    def before(self, exchange: Exchange) -> tuple[list[Exchange], bool]:
        """The latest exchanges that fit before this one, and whether older ones were left out."""
        size, first, room = self.size, 0, self.characters - exchange.size
        while size > room and first < len(self.exchanges):
            size -= self.exchanges[first].size
            first += 1
        return list(self.exchanges)[first:], self.is_shortened or first > 0


class UnansweredWords:
    """Words of people that the agent did not answer.

    They join the next words in histories that hold every turn.
    """

    def __init__(self, characters: int):
        self.characters = characters
        self.text = ""
        self.changes: set[str] = set()

    def keep(self, turn: Turn) -> bool:
        """Add a turn without an answer; False when the words are too long.

        All unanswered words are dropped then.
        """
        self.text, self.changes = self.joined(turn, turn.question)
        is_fitting = len(self.text) <= self.characters
        if not is_fitting:
            self.clear()
        return is_fitting

    def clear(self) -> None:
        """Forget the words, once they are answered."""
        self.text, self.changes = "", set()

    def joined(self, turn: Turn, user_text: str) -> tuple[str, set[str]]:
        """The unanswered words followed by this turn's, and the changes that this makes."""
        done = self.changes | turn.changes
        if not user_text.strip():
            return self.text, done | {changes.TEXTLESS_DROPPED}
        if not self.text:
            return user_text, done
        return f"{self.text}\n\n{user_text}", done | {changes.MESSAGES_MERGED}


SHORTEST_RESULT = 200
CUT = "\n[… {count} characters left out …]"


def compute_share(room: int, results: int) -> int:
    """Divide a room of characters among this number of results.

    No share is shorter than SHORTEST_RESULT.
    """
    return max(SHORTEST_RESULT, room // results) if results else 0


def truncate_text(text: str, length: int) -> str:
    """The beginning of a text, with a note of how many characters are left out.

    The text itself where the cut would save hardly anything.
    """
    longest_mark = len(CUT.format(count=len(text)))
    if len(text) <= length + longest_mark:
        return text
    kept_length = cut_before_marker(text, length - longest_mark)
    return text[:kept_length] + CUT.format(count=len(text) - kept_length)
