"""What statuses and types of samples are called on the pages and in sentences."""

from django.utils.translation import gettext_lazy as _

from .models import DatasetSample

# In the order of the statuses.
STATUS_WORDS = {
    DatasetSample.Status.PENDING: _("Pending"),
    DatasetSample.Status.APPROVED: _("Approved"),
    DatasetSample.Status.REJECTED: _("Rejected"),
    DatasetSample.Status.NEEDS_REVIEW: _("Needs review"),
    DatasetSample.Status.AUTO_APPROVED: _("Approved by rule"),
}
TYPE_WORDS = {
    DatasetSample.Type.ANNOTATED_TURN: _("Annotated turn"),
    DatasetSample.Type.MEMORY_GATE_POSITIVE: _("Memory gate, positive"),
    DatasetSample.Type.MEMORY_GATE_NEGATIVE: _("Memory gate, negative"),
    DatasetSample.Type.WRITE_GUARDIAN_DECISION: _("Write guardian decision"),
}
PART_WORDS = {
    "correct": _("correct"),
    "incorrect": _("incorrect"),
    "corrected": _("corrected"),
}
