"""Chooses the exporter of a format and task, and builds rows with it."""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any

from . import pairs
from .changes import NO_CHANGES, REBUILT, TOOL_RESULTS_MERGED, TOOLS_UNKNOWN
from .conversations import conversation_builder, histories
from .conversations.turns import INPUT, KEEP, LIST, SPLIT, BranchMessage
from .formats import alpaca, gate, messages, metadata, openai, preferences, raw, reflection, sharegpt, table
from .outcomes import DUPLICATE, INTERRUPTED, RESTS_ON_TOOLS, Row, SampleOutcome
from .prompts import PromptColumns, get_no_prompts
from .samples import GATE_TYPES, GONE, TOOLS, ExportSample
from .writes import REFUSED, WRITE, WRITTEN

CONVERSATIONS: dict[str, Any] = {
    "sharegpt": sharegpt,
    "sharegpt_reflection": reflection,
    "openai": openai,
    "messages": messages,
    "parquet": messages,
    **preferences.FORMATS,
}
STORED: dict[str, Callable[[ExportSample], Row]] = {
    "raw": raw.build_row,
    "csv": table.build_row,
}  # samples, and no training rows
TURN = "annotated_turn"
NO_DECISION, DECISION_INCORRECT, DECISION_UNKNOWN = "no_decision", "decision_incorrect", "decision_unknown"
OVERRULED = "overruled"
WRITE_UNKNOWN, WRITE_INCORRECT, CONTENT_UNKNOWN = "write_unknown", "write_incorrect", "content_unknown"
REPLY, GATE, GUARDIAN = "reply", "gate", "guardian"


@dataclass(frozen=True, slots=True)
class Shape:
    """The form of rows: format, task, longest length, and what stands before a reply.

    `row_characters`: the longest row. `history`: the turns before a reply, one of histories.HISTORIES. `tool_calls`:
    one of turns.TOOL_CALLS. A turn with a change of `withheld` is in no row but its own;
    `excluded`: reasons of outcomes for which a turn is in no row at all. `parallel_calls`: how calls that ran side by
    side are written, one of turns.PARALLEL.
    """

    format: str
    task: str
    row_characters: int = 32_000
    history: str = histories.EDITED
    tool_calls: str = KEEP
    withheld: Set[str] = NO_CHANGES
    parallel_calls: str = LIST
    excluded: Set[str] = NO_CHANGES

    @property
    def needs_branch(self) -> bool:
        """Whether a row needs messages that its sample does not have."""
        return self.has_history or (self.format == "alpaca" and self.task == "reply" and self.tool_calls == INPUT)

    @property
    def has_history(self) -> bool:
        """Whether a row is a conversation with turns before its reply."""
        return self.format in CONVERSATIONS and self.task == "reply"

    @property
    def is_sharegpt(self) -> bool:
        """Whether calls are texts of ShareGPT, which has choices for them."""
        return self.has_history and isinstance(CONVERSATIONS[self.format].SPELLING, sharegpt.ShareGPT)

    @property
    def has_whole_sessions(self) -> bool:
        """Whether a row may teach all replies of a session."""
        return self.format not in preferences.FORMATS or self.task != REPLY

    @property
    def is_paired(self) -> bool:
        """Whether a row holds two answers to one question."""
        return self.format in preferences.PAIRED

    @property
    def teaches_rejected(self) -> bool:
        """Whether rows are replies with their label: samples that people approved, and those they rejected."""
        return self.format == "kto" and self.task == REPLY

    @property
    def is_stored(self) -> bool:
        """Whether rows are samples as they are stored, to which no rule of trainers applies."""
        return self.format in STORED


def is_taught(shape: Shape, sample_type: str) -> bool:
    """Whether samples of a type can have rows of this shape.

    Rows of the task guardian are writes. Other rows are turns; the task gate also has samples that are only a decision,
    and formats of stored samples have every type.
    """
    if shape.task == GUARDIAN:
        return sample_type == WRITE
    return shape.is_stored or sample_type == TURN or (shape.task == GATE and sample_type in GATE_TYPES)


def find_unfit_reason(shape: Shape, sample: ExportSample) -> str | None:
    """The reason why a sample has nothing to teach for the task, or None."""
    if shape.task == REPLY:
        return None
    reason = (
        _find_unfit_write_reason(shape, sample) if shape.task == GUARDIAN else _find_unfit_gate_reason(shape, sample)
    )
    return reason or _find_pairless_reason(shape, sample)


def _find_pairless_reason(shape, sample):
    return (pairs.find_pairless_reason(shape.task, sample) or None) if shape.is_paired else None


def _find_unfit_gate_reason(shape, sample):
    if sample.is_gate_wrong and shape.format != "kto":
        return DECISION_INCORRECT
    if not sample.gate:
        return NO_DECISION
    return None if sample.gate.decision in gate.DECISIONS else DECISION_UNKNOWN


def _find_unfit_write_reason(shape, sample):
    if sample.is_guardian_wrong and shape.format != "kto":
        return WRITE_INCORRECT
    if sample.guardian is None or sample.guardian.status not in (WRITTEN, REFUSED):
        return WRITE_UNKNOWN
    if sample.misfit:
        return sample.misfit
    return CONTENT_UNKNOWN if sample.guardian.status == WRITTEN and sample.guardian.content is None else None


def build_rows(
    shape: Shape,
    samples: Iterable[ExportSample],
    messages: Iterable[BranchMessage] = (),
    given: Callable[[ExportSample], PromptColumns] = get_no_prompts,
    elsewhere: conversation_builder.Elsewhere = conversation_builder.is_taught_nowhere,
) -> Iterator[SampleOutcome]:
    """Build the rows of one session's samples, in the order of their turns.

    `messages` is the branch of the session, where rows need it. `given` returns what the model of a sample was given,
    and is called once the messages of its turn have been read. The changes of a row name the kinds of secrets in it
    (changes.build_secret_change), whether they count or not. `elsewhere` says whether an exchange is taught on another
    side of the split.
    """
    for outcome in _build_outcomes(shape, samples, messages, given, elsewhere):
        if outcome.row is not None:
            outcome.changes |= metadata.add_control_tokens(outcome)
        yield outcome


def _build_outcomes(shape, samples, messages, given, elsewhere):
    if shape.has_history:  # where the turn of a duplicate is not history either
        yield from _build_conversations(shape, samples, messages, given, elsewhere)
        return
    unique_samples = _UniqueSamples(samples)
    if shape.is_stored:
        outcomes = (SampleOutcome(sample, STORED[shape.format](sample)) for sample in unique_samples)
    else:
        outcomes = (
            _build_replies(shape, unique_samples, messages)
            if shape.task == REPLY
            else _build_decisions(shape, unique_samples)
        )
    for outcome in outcomes:
        yield from unique_samples.take_duplicates()
        yield outcome
    yield from unique_samples.take_duplicates()


class _UniqueSamples:
    """Samples without duplicates of other samples of the export.

    `take_duplicates` yields the outcomes of the duplicates that were skipped since its last call.
    """

    def __init__(self, samples):
        self.samples = samples
        self.duplicates: list[ExportSample] = []

    def __iter__(self):
        for sample in self.samples:
            if sample.is_duplicate:
                self.duplicates.append(sample)
            else:
                yield sample

    def take_duplicates(self):
        while self.duplicates:
            yield SampleOutcome(self.duplicates.pop(0), None, left_out=DUPLICATE)


def _build_decisions(shape, samples):
    exporter = CONVERSATIONS.get(shape.format, alpaca)
    for sample in samples:
        if reason := _find_pairless_reason(shape, sample):
            yield SampleOutcome(sample, None, left_out=reason)
        elif shape.task == GUARDIAN and sample.guardian:
            yield SampleOutcome(
                sample, *exporter.build_guardian_row(sample, sample.guardian, characters=shape.row_characters)
            )
        elif sample.gate:
            yield SampleOutcome(sample, *exporter.build_gate_row(sample, sample.gate, characters=shape.row_characters))


def _build_conversations(shape, samples, messages, given, elsewhere):
    for conversation in conversation_builder.build_conversations(
        samples,
        messages,
        _choose_spelling(shape),
        characters=shape.row_characters,
        history=shape.history,
        withheld=shape.withheld,
        excluded=shape.excluded,
        elsewhere=elsewhere,
    ):
        sample, done = conversation.sample, conversation.changes
        if conversation.exchanges and REBUILT in conversation.exchanges[-1].changes:
            if TOOLS in sample.traits:
                yield SampleOutcome(sample, None, left_out=RESTS_ON_TOOLS)
                continue
            done |= metadata.find_trait_changes(sample)
        if conversation.exchanges is None:
            yield SampleOutcome(sample, None, done, left_out=conversation.left_out)
        else:
            yield _build_conversation(shape, sample, conversation, done, given)


def _build_conversation(shape, sample, conversation, done, given):
    """Build a row that is a conversation."""
    if reason := _find_pairless_reason(shape, sample):
        return SampleOutcome(sample, None, left_out=reason)
    exporter, prompt = CONVERSATIONS[shape.format], given(sample)
    names, more = exporter.find_described_tools(prompt)
    is_undescribed = any(not exchange.calls <= names for exchange in conversation.exchanges)
    row = exporter.build_row(sample, conversation.exchanges, prompt)
    if shape.format in preferences.FORMATS:  # of which a part alone may be a conversation that names its changes
        done = done.union(*[exchange.changes for exchange in conversation.exchanges])
    outcome = SampleOutcome(sample, row, done | more, conversation.others, given=prompt, is_undescribed=is_undescribed)
    outcome.has_calls = any(exchange.calls for exchange in conversation.exchanges)
    return outcome


def _choose_spelling(shape):
    spelling = CONVERSATIONS[shape.format].SPELLING
    is_sharegpt = isinstance(spelling, sharegpt.ShareGPT)
    return type(spelling)(shape.parallel_calls == SPLIT) if is_sharegpt else spelling


def _build_replies(shape, samples, messages):
    """Build rows of one instruction each.

    The tool results that a reply rests on stand in the row's input where the shape says so; there is no row without
    them.
    """
    joins = INTERRUPTED in shape.excluded
    for sample, turn in alpaca.pair_with_turns(samples, messages, sharegpt.SPELLING, joins_interrupted=joins):
        unknown = frozenset({TOOLS_UNKNOWN}) if GONE in sample.traits and not turn else NO_CHANGES
        if turn and turn.work and shape.tool_calls == INPUT:
            room = shape.row_characters - len(turn.question) - len(sample.reply)
            results, done = alpaca.fold_tool_calls(turn.work, room)
            row, more = alpaca.build_reply_row(sample, results, turn.question)
            others = turn.changes - {TOOL_RESULTS_MERGED} | conversation_builder.find_dropped_text(sample, turn)
            yield SampleOutcome(sample, row, done | more | others)
        elif TOOLS in sample.traits and shape.tool_calls == INPUT:  # not on the branch, or without their calls
            yield SampleOutcome(sample, None, left_out=RESTS_ON_TOOLS)
        else:
            row, done = alpaca.build_reply_row(sample)
            yield SampleOutcome(sample, row, done | unknown)
