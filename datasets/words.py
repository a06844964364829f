"""Words of the site for statuses and types of samples, formats and tasks of exports."""

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ledger.words import INJECTED_WORDS
from openclaw_web.pages import states

from .models import CUT_OFF, DatasetExport, DatasetSample
from .sample_texts import CHANGED, INJECTED, INTERRUPTED, PICTURE, UNKNOWN_ENVELOPE, UNRECEIVED

UNDONE = "undone"  # a sample without a status: its only verdict was undone
# In the order of the statuses.
STATUS_WORDS = {status: states.word(status) for status in DatasetSample.Status}
TYPE_WORDS = {
    DatasetSample.Type.ANNOTATED_TURN: _("Whole turn"),
    DatasetSample.Type.MEMORY_GATE_POSITIVE: _("Decision to remember"),
    DatasetSample.Type.MEMORY_GATE_NEGATIVE: _("Decision to remember nothing"),
    DatasetSample.Type.WRITE_GUARDIAN_DECISION: _("Memory write"),
}
# OpenClaw's own prompts (datasets.turn_facts): values of the column `prompted_by`.
PROMPT_WORDS = INJECTED_WORDS | {"silent": _("Silent reply")}
# Why a turn is left out unless somebody asks for it (datasets.turn_facts).
EXCLUDED_WORDS = {
    INJECTED: _("Started by OpenClaw itself, or with a reply that is not sent"),
    UNKNOWN_ENVELOPE: _("In lines like OpenClaw's own that are not known"),
    INTERRUPTED: _("With an answer that ended with a tool call, because a person spoke before its result"),
    UNRECEIVED: _("With an answer that nobody received: a record is lost, or OpenClaw wrote the text"),
    CHANGED: _("With other words now than people judged"),
    PICTURE: _("With a picture or file in the question, which the row would not contain"),
}
# What lists can be narrowed to by both (datasets.sample_order).
PROMPTED_WORDS = {"person": _("A person")} | PROMPT_WORDS
ENDING_WORDS = {"complete": _("Not cut off"), "cut_off": _("Cut off")}
PART_WORDS = {
    "correct": _("Right"),
    "incorrect": _("Wrong"),
    "corrected": _("Wrong, should be …"),
}
# Names alone, for a column; datasets.exports.words says what each is.
FORMAT_NAMES = {
    DatasetExport.Format.ALPACA: "Alpaca",
    DatasetExport.Format.SHAREGPT: "ShareGPT",
    DatasetExport.Format.OPENAI: "OpenAI",
    DatasetExport.Format.RAW: _("Raw samples"),
    DatasetExport.Format.CSV: "CSV",
    DatasetExport.Format.MESSAGES: _("Messages"),
    DatasetExport.Format.PARQUET: "Parquet",
    DatasetExport.Format.SHAREGPT_REFLECTION: _("ShareGPT of the spec"),
    DatasetExport.Format.PREFERENCE: _("Pairs (TRL)"),
    DatasetExport.Format.OPENAI_PREFERENCE: _("Pairs (OpenAI)"),
    DatasetExport.Format.LLAMAFACTORY_PREFERENCE: _("Pairs (LLaMA-Factory)"),
    DatasetExport.Format.KTO: "KTO",
}
TASK_NAMES = {
    DatasetExport.Task.REPLY: _("Reply"),
    DatasetExport.Task.GATE: _("Memory gate"),
    DatasetExport.Task.GUARDIAN: _("Write guardian"),
}


def describe_status(sample: DatasetSample) -> str:
    """The status that a verdict gave a sample, in words, with what it does not achieve."""
    if sample.annotation_status == DatasetSample.Status.APPROVED and sample.reply_stop in CUT_OFF:
        return gettext("Approved, but its reply was cut off, so that exports leave it out by default")
    return str(STATUS_WORDS[sample.annotation_status or DatasetSample.Status.PENDING])
