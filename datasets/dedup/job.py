"""The job that computes missing, outdated and damaged signatures of samples."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.kinds import MINUTE_MS, Kind, Schedule
from openclaw_web.amounts import format_plural

from ..models import DatasetSample
from . import signatures
from .signatures import BATCH, COLUMNS, Signature

READ = 1_000  # samples


def run(_params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Check the signature of every sample; return the counts as JSON-able values.

    Running it again computes what is left.
    """
    total, checked, created = DatasetSample.objects.count(), 0, 0
    for ids, broken in _read_pages():
        for start in range(0, len(broken), BATCH):
            created += signatures.renew(broken[start : start + BATCH])
            progress.update(checked, total, _("Creating signatures: %(count)s so far") % {"count": f"{created:,}"})
        checked += len(ids)
        progress.update(checked, total)
    return {"message": _describe_result(checked, created), "checked": checked, "created": created}


def is_needed() -> bool:
    """Whether a sample has no signature, or one of other rules."""
    return DatasetSample.objects.exclude(signature__rule=signatures.RULE).exists()


def in_words(result: dict[str, Any]) -> str:
    """The result in a sentence."""
    return result["message"]


def _read_pages():
    """Yield pages of sample rows, each with the ids of samples with unsound signatures."""
    rows = DatasetSample.objects.order_by("id").values_list("id", *[f"signature__{name}" for name in COLUMNS])
    page = list(rows[:READ])
    while page:
        broken = [sample_id for sample_id, *columns in page if not signatures.is_sound(sample_id, Signature(*columns))]
        yield page, broken
        page = list(rows.filter(id__gt=page[-1][0])[:READ])


def _describe_result(checked, created):
    checked_words = format_plural("%(count)s sample checked", "%(count)s samples checked", checked)
    if not created:
        return _("%(checked)s: every signature is up to date.") % {"checked": checked_words}
    new = format_plural("%(count)s signature created", "%(count)s signatures created", created)
    return checked_words + ", " + new + "."


JOB = Kind(
    run=run,
    label=gettext_lazy("Check signatures"),
    audit_text=gettext_lazy("started to check signatures"),
    cancel_text=gettext_lazy("Signatures already created are kept; the next run continues."),
    describe_result=in_words,
    schedule=Schedule("schedule.signatureMinutes", MINUTE_MS, dict, is_needed),
)
