"""Where a row comes from: columns of texts beside the ones that trainers read."""

from ..changes import CONTROL_TOKENS, ENVELOPE_REMOVED, IMAGES_DROPPED, NO_CHANGES, Changes, build_secret_change
from ..conversations.exchanges import Conversation
from ..json_output import dump_json
from ..outcomes import SampleOutcome
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
TOLD = {ENVELOPE: ENVELOPE_REMOVED, IMAGES: IMAGES_DROPPED}
PLACE_COLUMNS = ("sample_id", "agent_id", "session_id", "turn_number")
# Last in every row: the control tokens in its texts, which a tokenizer may read as such.
SCAN_COLUMNS = ("control_tokens",)
UNSEEN = frozenset(
    {*PLACE_COLUMNS, "quality_score", "memory_gate_decision"}
)  # ids, numbers and names: not what anybody wrote
SHARED = ("system", "tools")  # texts that many rows have
JUDGEMENT_COLUMNS = ("quality_score", "memory_gate_decision", "candidate_fact")


def build_place(sample: ExportSample) -> dict[str, str]:
    """Which sample, and where it was said."""
    return {
        "sample_id": sample.sample_id,
        "agent_id": sample.agent_id,
        "session_id": sample.session_id,
        "turn_number": "" if sample.turn_number is None else str(sample.turn_number),
    }


def build_judgement(sample: ExportSample) -> dict[str, str]:
    """What is known about it; an empty text where nothing is."""
    gate = sample.gate
    return {
        "quality_score": "" if sample.quality_score is None else str(sample.quality_score),
        "memory_gate_decision": gate.decision if gate else "",
        "candidate_fact": gate.fact if gate else "",
    }


def find_trait_changes(sample: ExportSample) -> Changes:
    """What was left out of the words of its turn before they came here."""
    return frozenset(TOLD[name] for name in sample.traits & TOLD.keys())


def add_control_tokens(made: SampleOutcome) -> Changes:
    """Add the last column to a row, if it has room for one of ours; what to say of the row beside it."""
    row = made.row or {}
    seen = merge_scans([*_seen(made.sample.stored or row), *_seen_beside(made)])
    made.control_tokens = " ".join(sorted(seen.tokens))
    if "sample_id" in row and made.sample.stored is None:
        row["control_tokens"] = made.control_tokens
    if seen is NO_FINDINGS:
        return NO_CHANGES
    return frozenset([*map(build_secret_change, seen.kinds), *([CONTROL_TOKENS] if seen.tokens else [])])


def _seen_beside(made):
    """What is in the text that a row without columns of ours has in the file beside it."""
    fact = made.sample.gate.fact if made.sample.gate else ""
    if fact and made.sample.stored is None and "sample_id" not in (made.row or {}):
        yield scan_texts([fact])


def _seen(row):
    """What is in the texts of a row, or of a sample as it is stored."""
    texts = []
    for name, value in row.items():
        if isinstance(value, Conversation):
            yield value.seen
        elif name in SHARED and value:
            yield scan_shared_text(value if isinstance(value, str) else dump_json(value))
        elif name not in UNSEEN and value and isinstance(value, str):
            texts.append(value)
    if texts:
        yield scan_texts(texts)
