"""Columns of texts that say where a row comes from, beside those for trainers."""

from ..changes import CONTROL_TOKENS, ENVELOPE_REMOVED, IMAGES_DROPPED, NO_CHANGES, Changes
from ..conversations.exchanges import Conversation
from ..json_output import dump_json
from ..outcomes import SampleOutcome
from ..prompts import COLUMNS, PromptColumns
from ..samples import ENVELOPE, IMAGES, ExportSample
from ..text_scan import NO_FINDINGS, merge_scans, scan_shared_text, scan_texts

# Trainers give these names a meaning of their own; a column of ours by such a name would change or stop a training.
RESERVED = frozenset(
    {
        "text",
        "messages",
        "prompt",
        "completion",
        "chosen",
        "rejected",
        "label",
        "tools",
        "system",
        "images",
        "input_ids",
        "labels",
        "chat_template_kwargs",
    }
)
TRAIT_CHANGES = {ENVELOPE: ENVELOPE_REMOVED, IMAGES: IMAGES_DROPPED}
PLACE_COLUMNS = ("sample_id", "agent_id", "session_id", "turn_number")
# Last in every row: the control tokens in its texts, which a tokenizer may read as such.
SCAN_COLUMNS = ("control_tokens",)
UNSEEN = frozenset(
    {*PLACE_COLUMNS, "quality_score", "memory_gate_decision", "system_source", "tools_source"}
)  # ids, numbers and names, which nobody wrote as text
SHARED = ("system", "tools")  # texts that many rows have
# Where the system prompt and the tools come from: prompts.SOURCES, or empty where the row has none.
GIVEN_COLUMNS = ("system_source", "tools_source")
JUDGEMENT_COLUMNS = ("quality_score", "memory_gate_decision", "candidate_fact")


def build_place(sample: ExportSample) -> dict[str, str]:
    """The columns of the sample's place: its id, agent, session and turn."""
    return {
        "sample_id": sample.sample_id,
        "agent_id": sample.agent_id,
        "session_id": sample.session_id,
        "turn_number": "" if sample.turn_number is None else str(sample.turn_number),
    }


def build_judgement(sample: ExportSample) -> dict[str, str]:
    """The columns of judgments of a sample, with empty texts where nothing is known."""
    gate = sample.gate
    return {
        "quality_score": "" if sample.quality_score is None else str(sample.quality_score),
        "memory_gate_decision": gate.decision if gate else "",
        "candidate_fact": gate.fact if gate else "",
    }


def build_given(given: PromptColumns) -> dict[str, str]:
    """The columns that say where the row's system prompt and tools come from."""
    return {f"{column}_source": given.get_source(column) for column in COLUMNS}


def find_trait_changes(sample: ExportSample) -> Changes:
    """The changes that the words of a sample's turn had before the export."""
    return frozenset(TRAIT_CHANGES[name] for name in sample.traits & TRAIT_CHANGES.keys())


def add_control_tokens(outcome: SampleOutcome) -> Changes:
    """Add the control tokens to a row that has a column for them.

    Returns the change to name for a row with control tokens.
    """
    row = outcome.row or {}
    scan = merge_scans([*_scan_row(outcome.sample.stored or row), *_scan_source(outcome)])
    outcome.control_tokens = " ".join(sorted(scan.tokens))
    if "sample_id" in row and outcome.sample.stored is None:
        row["control_tokens"] = outcome.control_tokens
    return NO_CHANGES if scan is NO_FINDINGS else frozenset({CONTROL_TOKENS})


def _scan_source(outcome):
    """Scan the fact, which the file of sources holds for a row without our columns."""
    fact = outcome.sample.gate.fact if outcome.sample.gate else ""
    if fact and outcome.sample.stored is None and "sample_id" not in (outcome.row or {}):
        yield scan_texts([fact])


def _scan_row(row):
    """Scan the texts of a row, or of a sample as it is stored."""
    texts = []
    for name, value in row.items():
        if isinstance(value, Conversation):
            yield value.seen
        elif name in SHARED and value:
            yield scan_shared_text(value if isinstance(value, str) else dump_json(value))
        elif isinstance(value, (dict, list)):
            texts += _list_texts(value)
        elif name not in UNSEEN and value and isinstance(value, str):
            texts.append(value)
    if texts:
        yield scan_texts(texts)


def _list_texts(value):
    """All texts within a value of JSON, its names too."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for item in pair for text in _list_texts(item)]
    return [text for item in value for text in _list_texts(item)] if isinstance(value, list) else []
