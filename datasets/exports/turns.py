"""Transcripts as turns: a user's words, tool calls with results, the answer.

Trainers drop a row silently when its sides do not alternate. A turn is brought into that shape here, once, and
everything that is left out for it is named as a change.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ledger.collectors.answers import ALONE, SILENT, UNTAUGHT, find_answer, is_silent

from ..sample_texts import ExportSample
from . import changes
from .changes import RESTS_ON_TOOLS
from .dialects import AGENT, SHAREGPT, TOOL, Dialect, Message

# Rows hold tool calls and results, or have no turn that rests on them. Alpaca has no place for them but its `input`:
# without that it has no reply that rests on them.
KEEP, LEAVE_OUT, INPUT = TOOL_CALLS = ("keep", "leave_out", "input")
# How calls that ran side by side are written: as one list with one answer, or one after the other.
LIST, SPLIT = PARALLEL = ("list", "split")
ERROR = "[error]"  # stands before the result of a tool that failed


@dataclass(slots=True)
class Step:
    """Tool calls that ran side by side, with their results.

    `words` are what the agent said before the calls. `first` is the number of the first call within the branch, from 1:
    ids that are made of it are unique.
    """

    calls: list[Any]  # ledger.collectors.records.ToolCall
    results: list[str]
    words: list[str]
    changes: changes.Changes
    first: int


@dataclass(slots=True)
class Turn:
    """A user's message with the tool calls, results and answer that followed it.

    `steps` are the calls and results as messages. Without an answer there are no steps either, so that no tool result
    stands before another person's words.
    """

    number: int | None
    user_text: str
    steps: list[Message] = field(default_factory=list)
    work: list[Step] = field(default_factory=list)  # the steps, before they are messages
    answers: list[str] = field(default_factory=list)
    changes: set[str] = field(default_factory=set)
    is_after_reset: bool = False
    exclusion: str = ""  # that of its message
    is_unreceived: bool = False  # the words after it were no answer to anybody
    is_interrupted: bool = False  # the agent's last message called a tool: a person spoke before it went on
    before: str = ""  # words of the interrupted turns before, whose run went on in this one
    originals: dict[str, str] = field(default_factory=dict)  # texts before redaction, by what it made of them

    @property
    def question(self) -> str:
        """The words that its reply answers."""
        return f"{self.before}\n\n{self.user_text}" if self.before else self.user_text

    def add_original(self, message: Any) -> None:
        """Remember what a message said before redaction."""
        if message.original is not None:
            self.originals[message.text] = message.original

    def restore(self, text: str) -> str:
        """A text of this turn as it was before redaction, to compare it."""
        return self.originals.get(text, text)

    @property
    def judged_answers(self) -> list[str]:
        """The answers before redaction, as people judged them."""
        return [self.restore(answer) for answer in self.answers]


def split_turns(
    messages: Iterable[Any],
    dialect: Dialect,
    *,
    is_split: bool = False,
    tools: bool = True,
    joins_interrupted: bool = False,
) -> Iterator[Turn]:
    """Split a branch into turns, with their steps as the format writes them.

    Messages are those of branches.Message. `is_split`: calls that ran side by side are written one after the other.
    `tools`: whether rows hold tool results; if not, a turn that rests on them has RESTS_ON_TOOLS among its changes.
    `joins_interrupted`: a run that a person's message cut in two stands whole in the turn that has its answer, so that
    no call is parted from its result. Messages after a reset belong to no turn before it.
    """
    turn: Turn | None = None
    reader = _Reader(dialect, is_split, tools)
    has_opening = is_after_reset = False
    for message in messages:
        is_after_reset |= message.is_after_reset
        if message.role == "user":
            before = turn
            if turn:
                yield reader.finish(turn)
            turn = Turn(
                message.turn_number, message.text, changes=set(message.text_changes), exclusion=message.exclusion
            )
            turn.add_original(message)
            turn.is_after_reset, is_after_reset = is_after_reset, False
            if before and joins_interrupted and not turn.is_after_reset:
                reader.go_on(before, turn)
            if has_opening:
                turn.changes.add(changes.OPENING_DROPPED)
                has_opening = False
        elif turn and not is_after_reset:
            reader.read(message, turn)
        else:
            has_opening = True
    if turn:
        yield reader.finish(turn)


def is_judged(turn: Turn, sample: ExportSample) -> bool:
    """Whether a turn of the branch is the sample's turn, with the words that were judged.

    A turn may go on after its sample was made, or be answered anew on another branch: its calls are then not those
    that led to the reply of the sample.
    """
    user_text, reply = sample.judged
    if turn.number != sample.turn_number or turn.restore(turn.user_text) != user_text:
        return False
    answers = turn.judged_answers
    return reply in answers or reply == "\n\n".join(answers)


def write_step(step: Step, dialect: Dialect, is_split: bool, done: set[str]) -> list[Message]:
    """The messages of calls and their results, as a dialect writes them; what was changed is added to `done`.

    One message has all calls and the words before them, others the results in the order of the calls. `is_split`: each
    call is followed by its result. Ids of calls have nine characters, as the templates of Mistral require.
    """
    if len(step.words) > 1 and dialect.text != SHAREGPT.text:  # which has no place for them
        done.add(changes.MESSAGES_MERGED)
    if is_split and len(step.calls) > 1:
        done.add(changes.CALLS_SPLIT)
    written: list[Message] = []
    results: list[Message] = []
    words = "\n\n".join(step.words)
    for number, (call, result) in enumerate(zip(step.calls, step.results, strict=True), step.first):
        id_, function = f"call{number:05}", {"name": call.name, "arguments": call.arguments}
        if is_split or not written:
            written += [*results, {"role": AGENT, "content": words, "tool_calls": []}]
            results, words = [], ""
        written[-1]["tool_calls"].append({"id": id_, "type": "function", "function": function})
        results.append({"role": TOOL, "name": call.name, "tool_call_id": id_, "content": result})
    return dialect.write([*written, *results], done)


def _format_result(result):
    """The text of a tool result as rows have it."""
    return f"{ERROR} {result.text}".rstrip() if result.is_failed else result.text


def _merge_changes(results):
    """The changes of every row that has these results."""
    merged = frozenset().union(*[result.text_changes for result in results])
    return merged | {changes.ERRORS_MARKED} if any(result.is_failed for result in results) else merged


def receive(messages: list[Any], turn: Turn) -> list[Any]:
    """The messages of a turn as its person received them.

    Words that the agent sent with a tool are its last words, and not calls of a tool; words that nobody received are
    left out.
    """
    answer = find_answer(messages, messages[0].conversation if messages else ALONE)
    turn.is_unreceived = answer.state in (SILENT, *UNTAUGHT)
    if not answer.sent or answer.place is None:
        return messages
    sent = {(place, call_id) for place, call_id in answer.sent}
    gone = {call_id for _place, call_id in sent}
    turn.changes.add(changes.ANSWER_SENT)
    received = []
    for place, message in enumerate(messages):
        if message.role == "tool" and message.tool_call_id in gone:
            continue
        calls = [call for call in message.calls if (place, call.id) not in sent]
        words = "" if message.text in (answer.private, *answer.parts) or is_silent(message.text) else message.text
        if message.role == "tool" or calls or words:
            received.append(replace(message, text=words, calls=calls) if message.role != "tool" else message)
    last, originals = messages[answer.place], [_find_original(messages, part) for part in answer.parts]
    original = "\n\n".join(originals)
    own = replace(last, text=answer.text, calls=[], original=original if original != answer.text else None)
    return [*received, own]


def _find_original(messages, part):
    """A part of an answer as it was before redaction."""
    for message in messages:
        if part in message.sent_originals:
            return message.sent_originals[part]
        if message.text == part and message.original is not None:
            return message.original
    return part


class _Reader:
    """Reads the messages that follow a user's message.

    Calls stay open until the next message after their results.
    """

    def __init__(self, dialect, is_split, tools):
        self.dialect = dialect
        self.is_split = is_split
        self.tools = tools
        self.first = 1  # the number of the next call
        self.steps: list[Step] = []
        self.texts: list[str] = []
        self.calls: list[Any] = []
        self.results: dict[str, Any] = {}
        self.is_calling = False  # the agent's last message called a tool
        self.open: tuple[list[Step], list[str], list[Any]] = ([], [], [])  # of the turn that was finished last
        self.carried: set[int] = set()  # calls of an interrupted turn, which need no result in the next one
        self.ahead: list[Any] = []  # messages of the turn, which its end explains

    def go_on(self, before, turn):
        """Continue the run of an interrupted turn in the next turn.

        Only where the words of both are a person's.
        """
        if before.is_interrupted and not before.exclusion and not turn.exclusion:
            self.steps, self.texts, self.calls = self.open
            self.carried = set(map(id, self.calls))
            turn.before = before.question
            turn.originals |= before.originals
            turn.changes |= before.changes & changes.OF_WORDS
            if turn.before:
                turn.changes.add(changes.MESSAGES_MERGED)

    def read(self, message, turn):
        self.ahead.append(message)

    def _read_message(self, message, turn):
        if message.role == "tool":
            key = message.tool_call_id
            if key and key not in self.results and any(call.id == key for call in self.calls):
                self.results[key] = message
            else:
                turn.changes.add(changes.RESULTS_DROPPED)
        elif message.is_synthetic:
            turn.changes.add(changes.SYNTHETIC_DROPPED)
        else:
            if self.results:
                self._close_calls(turn)
            if message.text.strip():
                self.texts.append(message.text)
                turn.add_original(message)
            self.calls += message.calls
            self.is_calling = bool(message.calls)

    def finish(self, turn):
        """Complete a turn; the words after its last tool result are its answer.

        Without such words, the last words before are the answer, and the calls and results after them are left out.
        """
        messages, self.ahead = self.ahead, []
        for message in receive(messages, turn):
            self._read_message(message, turn)
        turn.is_interrupted, self.is_calling = self.is_calling, False
        unanswered = self._close_calls(turn)
        self.open = (list(self.steps), list(self.texts), unanswered)
        turn.answers, self.texts = self.texts, []
        steps, self.steps = self.steps, []
        if steps and not turn.answers:
            turn.changes.add(changes.TAIL_DROPPED)
            while steps and not turn.answers:
                turn.answers = steps.pop().words
        turn.work = steps
        for step in steps:
            turn.changes |= step.changes
            turn.steps += write_step(step, self.dialect, self.is_split, turn.changes)
        if not self.tools and (steps or changes.RESULTS_DROPPED in turn.changes):
            turn.changes.add(RESTS_ON_TOOLS)
        return turn

    def _close_calls(self, turn):
        """Add the answered calls as a step, in the order of the calls; return the others."""
        answered = [(call, self.results.pop(call.id)) for call in self.calls if call.name and call.id in self.results]
        answered_ids = {id(call) for call, _result in answered}
        unanswered = [call for call in self.calls if id(call) not in answered_ids]
        if any(id(call) not in self.carried for call in unanswered):
            turn.changes.add(changes.CALLS_DROPPED)
        if answered:
            calls, results = zip(*answered, strict=True)
            texts, result_changes = [_format_result(result) for result in results], _merge_changes(results)
            self.steps.append(Step(list(calls), texts, self.texts, result_changes, self.first))
            self.first += len(calls)
            self.texts = []
        self.calls, self.results = [], {}
        return unanswered
