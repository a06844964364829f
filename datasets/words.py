"""What statuses and types of samples, and formats and tasks of exports, are called on the pages and in sentences."""

from django.utils.translation import gettext_lazy as _

from ledger.words import INJECTED_WORDS
from openclaw_web.pages import states

from .models import DatasetExport, DatasetSample

# In the order of the statuses.
STATUS_WORDS = {status: states.word(status) for status in DatasetSample.Status}
TYPE_WORDS = {
    DatasetSample.Type.ANNOTATED_TURN: _("Annotated turn"),
    DatasetSample.Type.MEMORY_GATE_POSITIVE: _("Memory gate, positive"),
    DatasetSample.Type.MEMORY_GATE_NEGATIVE: _("Memory gate, negative"),
    DatasetSample.Type.WRITE_GUARDIAN_DECISION: _("Write guardian decision"),
}
# Why nobody asked (datasets.turn_facts): names in `prompted_by`.
PROMPT_WORDS = INJECTED_WORDS | {"silent": _("Silent reply")}
# What lists can be narrowed to by both (datasets.sample_order).
PROMPTED_WORDS = {"person": _("A person")} | PROMPT_WORDS
ENDING_WORDS = {"complete": _("Not cut off"), "cut_off": _("Cut off")}
PART_WORDS = {
    "correct": _("correct"),
    "incorrect": _("incorrect"),
    "corrected": _("corrected"),
}
# Names alone, for a column; datasets.exporting.words says what each is.
FORMAT_NAMES = {
    DatasetExport.Format.ALPACA: "Alpaca",
    DatasetExport.Format.SHAREGPT: "ShareGPT",
    DatasetExport.Format.OPENAI: "OpenAI",
    DatasetExport.Format.RAW: _("Raw samples"),
    DatasetExport.Format.CSV: "CSV",
}
TASK_NAMES = {
    DatasetExport.Task.REPLY: _("Reply"),
    DatasetExport.Task.GATE: _("Memory gate"),
    DatasetExport.Task.GUARDIAN: _("Write guardian"),
}
