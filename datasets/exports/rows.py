"""Rows of samples: which ones have something to teach, what is asked and answered, and the outcome of each.

Two answers of a pair have one question by construction: only the answer of a sample has two versions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ..json_texts import dump_json
from ..markers import NO_CHANGES, Changes
from ..models import BY_SET, JUDGES, SET_PREFIX, DatasetSample
from ..sample_texts import (
    DECISIONS,
    ENVELOPE,
    GATE_TYPES,
    GONE,
    IMAGES,
    INTERRUPTED,
    REFUSED,
    TOOLS,
    WRITE,
    WRITTEN,
    ExportSample,
    GateAnswer,
    UnreadableSample,
    format_question,
    join_lines,
    read_sample,
    read_stored,
)
from ..sample_texts import format_answer as format_write
from . import changes, histories
from .changes import RESTS_ON_TOOLS
from .dialects import MESSAGES, SHAREGPT, USER, build_answer
from .exchanges import Conversation, Exchange, scan_shared_text, scan_texts
from .formats import (
    FORMATS,
    GIVEN_COLUMNS,
    JUDGEMENT_COLUMNS,
    PLACE_COLUMNS,
    CanonicalRow,
    build_about,
    find_described_tools,
    format_line,
)
from .histories import SampleConversation, build_conversations, compute_share, find_dropped_text, truncate_text
from .prompt_columns import NO_PROMPTS, PromptColumns, get_no_prompts
from .turns import INPUT, KEEP, LIST, SPLIT, is_judged, split_turns

TURN = "annotated_turn"
REPLY, GATE, GUARDIAN = "reply", "gate", "guardian"
# Reasons for a sample that has nothing to teach.
NO_DECISION, DECISION_INCORRECT, DECISION_UNKNOWN = "no_decision", "decision_incorrect", "decision_unknown"
OVERRULED, NOT_A_TURN, UNREADABLE = "overruled", "not_a_turn", "unreadable"
WRITE_UNKNOWN, WRITE_INCORRECT, CONTENT_UNKNOWN = "write_unknown", "write_incorrect", "content_unknown"
NO_PAIR, SAME_ANSWER = "no_pair", "same_answer"
UNEXPLAINED = "unexplained"  # nobody said why the decision is wrong, so that its right answer has no reason
GATE_INSTRUCTION = (
    "Based on the following conversation, decide if this should be written to memory and which file it belongs to."
)
GUARDIAN_INSTRUCTION = (
    "A fact is proposed for a memory file. Decide whether it should be written into this file. "
    "If so, answer with the whole file as it should be afterwards."
)
TRAIT_CHANGES = {ENVELOPE: changes.ENVELOPE_REMOVED, IMAGES: changes.IMAGES_DROPPED}
SHARED = ("system", "tools")  # texts that many rows have
# Ids, numbers and names, which nobody wrote as text.
UNSEEN = frozenset({*PLACE_COLUMNS, *JUDGEMENT_COLUMNS[:2], *GIVEN_COLUMNS})
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """The form of rows: format, task, longest length, and what stands before a reply.

    `row_characters`: the longest row. `history`: the turns before a reply, one of histories.HISTORIES. `tool_calls`:
    one of turns.TOOL_CALLS. A turn with a change of `withheld` is in no row but its own;
    `excluded`: reasons for which a turn is in no row at all. `parallel_calls`: how calls that ran side by side are
    written, one of turns.PARALLEL.
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
        return self.has_history or (self.format == "alpaca" and self.task == REPLY and self.tool_calls == INPUT)

    @property
    def has_history(self) -> bool:
        """Whether a row is a conversation with turns before its reply."""
        return self.task == REPLY and self.format in FORMATS and FORMATS[self.format].dialect is not None

    @property
    def has_whole_sessions(self) -> bool:
        """Whether a row may teach all replies of a session."""
        return not FORMATS[self.format].answers or self.task != REPLY

    @property
    def teaches_rejected(self) -> bool:
        """Whether rows are replies with their label: samples that people approved, and those they rejected."""
        return self.format == "kto" and self.task == REPLY

    @property
    def is_stored(self) -> bool:
        """Whether rows are samples as they are stored, to which no rule of trainers applies."""
        return FORMATS[self.format].is_stored


@dataclass(slots=True)
class SampleOutcome:
    """The outcome of one sample: a row and its changes, or the reason in `left_out`.

    `others` are further samples that the row teaches. `given` is what its model was given; `is_undescribed`: the row
    calls a tool that `given` does not describe; `has_calls`: the row calls a tool.
    """

    sample: ExportSample
    row: Row | None
    changes: Changes = NO_CHANGES
    others: Sequence[ExportSample] = ()
    left_out: str = ""
    control_tokens: str = ""  # those in its texts, for formats whose rows have no column for them
    given: PromptColumns = NO_PROMPTS
    is_undescribed: bool = False
    has_calls: bool = False


def is_taught(shape: Shape, sample_type: str) -> bool:
    """Whether samples of a type can have rows of this shape.

    Rows of the task guardian are writes. Other rows are turns; the task gate also has samples that are only a decision,
    and formats of stored samples have every type.
    """
    if shape.task == GUARDIAN:
        return sample_type == WRITE
    return shape.is_stored or sample_type == TURN or (shape.task == GATE and sample_type in GATE_TYPES)


def read_fitting(shape: Shape, row: dict[str, Any], verdicts: Any) -> ExportSample | str:
    """The sample of a row of `dataset_samples`, or the reason why it has nothing to teach.

    `verdicts`: source.DecisionVerdicts.
    """
    if not is_taught(shape, row["sample_type"]):
        return NOT_A_TURN
    if verdicts.overrules(row):
        return OVERRULED
    try:
        sample = read_stored(row) if shape.is_stored else read_sample(row)
    except UnreadableSample:
        return UNREADABLE
    sample.is_approved = row["annotation_status"] in DatasetSample.APPROVED
    sample.judged_by = JUDGES.get(row["annotation_status"], "")
    if sample.judged_by and row["label_id"] is None and row["agent_id"].startswith(SET_PREFIX):
        sample.judged_by = BY_SET
    return find_unfit_reason(shape, sample) or sample


def find_unfit_reason(shape: Shape, sample: ExportSample) -> str | None:
    """The reason why a sample has nothing to teach for the task, or None."""
    if shape.task == REPLY:
        return None
    if shape.task == GUARDIAN:
        answer = sample.guardian
        if sample.is_guardian_wrong and shape.format != "kto":
            return WRITE_INCORRECT
        if answer is None or answer.status not in (WRITTEN, REFUSED):
            return WRITE_UNKNOWN
        if sample.misfit or (answer.status == WRITTEN and answer.content is None):
            return sample.misfit or CONTENT_UNKNOWN
    elif sample.is_gate_wrong and shape.format != "kto":
        return DECISION_INCORRECT
    elif not sample.gate or sample.gate.decision not in DECISIONS:
        return DECISION_UNKNOWN if sample.gate else NO_DECISION
    return find_pairless_reason(shape, sample) or None


def find_pair(task: str, sample: ExportSample) -> tuple[str, str] | None:
    """The right and the original answer of a sample; None where nobody corrected the answer.

    They are of an edit, or of the correction of a decision or a write; a write that was rolled back has one.
    """
    if task == REPLY:
        right, original = sample.edited_reply or "", sample.agent_reply
    elif task == GATE:
        right, original = (format_decision(answer)[0] if answer else "" for answer in (sample.gate, sample.said_gate))
    else:
        right, original = (format_write(answer) if answer else "" for answer in (sample.guardian, sample.said_guardian))
    return (right, original) if right.strip() and original.strip() else None


def find_pairless_reason(shape: Shape, sample: ExportSample) -> str:
    """Why a sample has no pair, where the format has pairs: NO_PAIR, or SAME_ANSWER where blanks alone differ."""
    if not FORMATS[shape.format].is_paired:
        return ""
    original = sample.said_guardian if shape.task == GUARDIAN else None
    is_unknown = original is not None and original.status == WRITTEN and original.content is None  # nothing to reject
    pair = None if is_unknown else find_pair(shape.task, sample)
    if pair is None:
        return NO_PAIR
    if shape.task == GATE and UNEXPLAINED in shape.excluded and sample.gate and not sample.gate.reason.strip():
        return UNEXPLAINED
    return SAME_ANSWER if "".join(pair[0].split()) == "".join(pair[1].split()) else ""


def format_decision(gate: GateAnswer) -> tuple[str, Changes]:
    """A decision of memory_gate as a model is to learn it, in three lines, and the changes to it."""
    fact, reason = join_lines(gate.fact), join_lines(gate.reason)
    done = NO_CHANGES if (fact, reason) == (gate.fact, gate.reason) else frozenset({changes.DECISION_FLATTENED})
    return f"Decision: {gate.decision}\nFact: {fact or 'none'}\nReason: {reason}", done


def build_rows(
    shape: Shape,
    samples: Iterable[ExportSample],
    messages: Iterable[Any] = (),
    given: Callable[[ExportSample], PromptColumns] = get_no_prompts,
    elsewhere: histories.Elsewhere = histories.is_taught_nowhere,
) -> Iterator[SampleOutcome]:
    """Build the rows of one session's samples, in the order of their turns.

    `messages` is the branch of the session, where rows need it: see branches.Message. `given` returns what the model of
    a sample was given, and is called once the messages of its turn have been read. `elsewhere` says whether an exchange
    is taught on another side of the split.
    """
    for outcome in _build_outcomes(shape, samples, messages, given, elsewhere):
        if outcome.row is not None:
            _add_control_tokens(outcome)
        yield outcome


def _build_outcomes(shape, samples, messages, given, elsewhere):
    if shape.has_history:  # where the turn of a duplicate is not history either
        for conversation in build_conversations(
            samples,
            messages,
            FORMATS[shape.format].dialect or MESSAGES,
            characters=shape.row_characters,
            history=shape.history,
            withheld=shape.withheld,
            excluded=shape.excluded,
            is_split=shape.parallel_calls == SPLIT,
            elsewhere=elsewhere,
        ):
            yield _build_conversation(shape, conversation, given)
        return
    duplicates: list[ExportSample] = []
    unique = _skip_duplicates(samples, duplicates)
    if shape.is_stored:
        outcomes = (SampleOutcome(sample, _write(shape, CanonicalRow(sample))) for sample in unique)
    elif shape.task == REPLY:
        outcomes = _build_replies(shape, unique, messages)
    else:
        outcomes = (_build_decision(shape, sample) for sample in unique)
    for outcome in outcomes:
        yield from _leave_out(duplicates)
        yield outcome
    yield from _leave_out(duplicates)


def _skip_duplicates(samples, duplicates):
    """The samples without duplicates of others, which are noted."""
    for sample in samples:
        if sample.left_out:
            duplicates.append(sample)
        else:
            yield sample


def _leave_out(duplicates):
    while duplicates:
        sample = duplicates.pop(0)
        yield SampleOutcome(sample, None, left_out=sample.left_out)


def _write(shape, row):
    return FORMATS[shape.format].build(row)


def _build_conversation(
    shape: Shape, conversation: SampleConversation, given: Callable[[ExportSample], PromptColumns]
) -> SampleOutcome:
    """The outcome of a sample whose row is a conversation that ends with its reply."""
    sample, exchanges, done = conversation.sample, conversation.exchanges, conversation.changes
    if exchanges and changes.REBUILT in exchanges[-1].changes:
        if TOOLS in sample.traits:
            return SampleOutcome(sample, None, left_out=RESTS_ON_TOOLS)
        done |= find_trait_changes(sample)
    if exchanges is None:
        return SampleOutcome(sample, None, done, left_out=conversation.left_out)
    if reason := find_pairless_reason(shape, sample):
        return SampleOutcome(sample, None, left_out=reason)
    prompt = given(sample)
    names, more = find_described_tools(shape.format, prompt)
    row = CanonicalRow(sample, exchanges, prompt, is_parallel=shape.parallel_calls != SPLIT)
    if FORMATS[shape.format].answers:  # a part of the row alone may be a conversation that names its changes
        done = done.union(*[exchange.changes for exchange in exchanges])
        _judge(shape, row, is_right=sample.is_approved)
    outcome = SampleOutcome(sample, _write(shape, row), done | more, conversation.others, given=prompt)
    outcome.is_undescribed = any(not exchange.calls <= names for exchange in exchanges)
    outcome.has_calls = any(exchange.calls for exchange in exchanges)
    return outcome


def _judge(shape, row, *, is_right):
    """Cut the answer off the conversation of a row, as a pair of answers or one with a label."""
    *earlier, own = row.exchanges
    if FORMATS[shape.format].is_paired:
        row.chosen, row.rejected = find_pair(shape.task, row.sample) or ("", "")
    else:
        # What was rejected is what the agent said, whoever edited it.
        is_original = shape.task == REPLY and not is_right
        row.chosen = row.sample.agent_reply if is_original else own.messages[-1][own.dialect.text]
        row.label = is_right
    question = Exchange(own.messages[:-1], own.changes, own.dialect)
    question.broken = own.broken
    row.exchanges = [*earlier, question]


def _build_replies(shape, samples, messages):
    """Build rows of one instruction each.

    The tool results that a reply rests on stand in the row's input where the shape says so; there is no row without
    them.
    """
    for sample, turn in _pair_with_turns(shape, samples, messages):
        done = find_trait_changes(sample)
        if sample.edited_reply is not None:
            done |= {changes.REPLY_EDITED}
        row = CanonicalRow(sample, instruction=sample.user_text, output=sample.reply)
        if turn and turn.work and shape.tool_calls == INPUT:
            room = shape.row_characters - len(turn.question) - len(sample.reply)
            row.input, folded = _fold_tool_calls(turn.work, room)
            row.instruction = turn.question or sample.user_text
            done |= folded | turn.changes - {changes.TOOL_RESULTS_MERGED} | find_dropped_text(sample, turn)
        elif TOOLS in sample.traits and shape.tool_calls == INPUT:  # not on the branch, or without their calls
            yield SampleOutcome(sample, None, left_out=RESTS_ON_TOOLS)
            continue
        elif GONE in sample.traits and not turn:
            done |= {changes.TOOLS_UNKNOWN}
        yield SampleOutcome(sample, _write(shape, row), done)


def _pair_with_turns(shape, samples, messages):
    """Pair each sample of a session with its turn on the branch; None: it is not there as it was judged."""
    turns = split_turns(messages, SHAREGPT, joins_interrupted=INTERRUPTED in shape.excluded)
    turn = next(turns, None)
    for sample in samples:
        while turn and (turn.number or 0) < (sample.turn_number or 0):
            turn = next(turns, None)
        yield sample, turn if turn and is_judged(turn, sample) else None


def _fold_tool_calls(steps, room):
    """Tool calls and their results as one text of about `room` characters, and the changes.

    Results are cut to an equal share of the room. Each call is a block, in the order of the calls: a line `Tool: exec`,
    a line `Arguments: {"command":"ls"}`, a line `Result:` and the result; an empty line stands between two blocks.
    """
    blocks = [
        (f"Tool: {call.name}\nArguments: {dump_json(call.arguments)}\nResult:\n", result)
        for step in steps
        for call, result in zip(step.calls, step.results, strict=True)
    ]
    done = NO_CHANGES.union(*[step.changes for step in steps]) | {changes.TOOLS_FOLDED}
    text = "\n\n".join(head + result for head, result in blocks)
    if (size := len(text)) > room:
        share = compute_share(room - (size - sum(len(result) for _, result in blocks)), len(blocks))
        text = "\n\n".join(head + truncate_text(result, share) for head, result in blocks)
        done |= {changes.TOOL_RESULTS_SHORTENED} if len(text) < size else NO_CHANGES
    return text, done | {changes.OVER_THE_BUDGET} if len(text) > room else done


def _build_decision(shape, sample):
    """The row of a decision of memory_gate, or of an answer of write_guardian."""
    if reason := find_pairless_reason(shape, sample):
        return SampleOutcome(sample, None, left_out=reason)
    if shape.task == GUARDIAN:
        instruction, is_right = GUARDIAN_INSTRUCTION, not sample.is_guardian_wrong
        question, answer, done = _format_write_texts(sample, shape.row_characters)
        more = NO_CHANGES
    else:
        instruction, is_right = GATE_INSTRUCTION, not sample.is_gate_wrong
        # The context and the turn as `User: …` and `Agent: …` lines, and the changes.
        lines, turn = ([format_line(*pair) for pair in pairs] for pairs in (sample.context, sample.turn))
        room = shape.row_characters - len(GATE_INSTRUCTION) - sum(map(len, turn))
        first = len(lines)
        while first and room >= len(lines[first - 1]):
            first -= 1
            room -= len(lines[first])
        is_shortened = sample.is_context_cut(first)
        checks = {
            changes.HISTORY_SHORTENED: first,
            changes.OVER_THE_BUDGET: room < 0,
            changes.CONTEXT_SHORTENED: is_shortened,
        }
        question, done = "\n".join(lines[first:] + turn), frozenset(name for name, is_so in checks.items() if is_so)
        answer, more = format_decision(sample.gate)
        more |= find_trait_changes(sample)
    row = CanonicalRow(sample, instruction=instruction, input=question, output=answer)
    facts = FORMATS[shape.format]
    if facts.dialect:
        question_message = facts.dialect.build(USER, f"{instruction}\n{question}")
        row.exchanges = [Exchange([question_message, build_answer(facts.dialect, answer, sample)], done, facts.dialect)]
    if facts.answers:
        done |= row.exchanges[0].changes
        _judge(shape, row, is_right=is_right)
    return SampleOutcome(sample, _write(shape, row), done | more)


def _format_write_texts(sample, characters):
    """Question and answer of a sample that is a write, and the changes to them.

    Both stay whole, however long: a file with missing lines would teach to lose lines.
    """
    question, answer = format_question(sample.write) if sample.write else "", format_write(sample.guardian)
    is_long = len(GUARDIAN_INSTRUCTION) + len(question) + len(answer) > characters
    texts = (sample.write.fact if sample.write else "", sample.guardian.reason)
    is_flat = any(join_lines(text) != text for text in texts)
    checks = {changes.OVER_THE_BUDGET: is_long, changes.DECISION_FLATTENED: is_flat}
    return question, answer, frozenset(name for name, is_so in checks.items() if is_so)


def find_trait_changes(sample: ExportSample) -> Changes:
    """The changes that the words of a sample's turn had before the export."""
    return frozenset(TRAIT_CHANGES[name] for name in sample.traits & TRAIT_CHANGES.keys())


def _add_control_tokens(outcome):
    """Add the control tokens in its texts to a row, where it has a column for them, and the change to its changes."""
    row, stored, gate = outcome.row, outcome.sample.stored, outcome.sample.gate
    scans, texts = [], []
    for name, value in (stored or row).items():
        if isinstance(value, Conversation):
            scans.append(value.seen)
        elif name in SHARED and value:
            scans.append(scan_shared_text(value if isinstance(value, str) else dump_json(value)))
        elif isinstance(value, (dict, list)) or (name not in UNSEEN and isinstance(value, str)):
            texts += _list_texts(value)
    if gate and stored is None and "sample_id" not in row:  # the file of sources has the fact
        texts.append(gate.fact)
    tokens = scan_texts(filter(None, texts)).union(*scans)
    outcome.control_tokens = " ".join(sorted(tokens))
    if "sample_id" in row and stored is None:
        row["control_tokens"] = outcome.control_tokens
    if tokens:
        outcome.changes |= {changes.CONTROL_TOKENS}


def _list_texts(value):
    """All texts within a value of JSON, its names too."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for item in pair for text in _list_texts(item)]
    return [text for item in value for text in _list_texts(item)] if isinstance(value, list) else []


def build_source(outcome: SampleOutcome) -> dict[str, str]:
    """A line of the file of sources, for formats without such columns: where the row of that number comes from."""
    return {**build_about(outcome.sample, outcome.given), "control_tokens": outcome.control_tokens}
