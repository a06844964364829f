"""The job that gives samples the signatures they lack, and makes those anew that are outdated or damaged."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.kinds import MINUTE_MS, Kind, Schedule

from ..models import DatasetSample
from . import signatures
from .signatures import BATCH, COLUMNS, Signature

READ = 1_000  # samples


def run(_params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Check the signature of every sample; what was found and made, as JSON-able values.

    Running it again makes what is left.
    """
    total, checked, made = DatasetSample.objects.count(), 0, 0
    for ids, broken in _pages():
        for start in range(0, len(broken), BATCH):
            made += signatures.renew(broken[start : start + BATCH])
            progress.update(checked, total, _("Creating signatures: %(count)s so far") % {"count": f"{made:,}"})
        checked += len(ids)
        progress.update(checked, total)
    return {"message": _sentence(checked, made), "checked": checked, "created": made}


def is_needed() -> bool:
    """Whether a sample has no signature, or one of other rules."""
    return signatures.find_missing(DatasetSample.objects.all()).exists()


def in_words(result: dict[str, Any]) -> str:
    """The result in a sentence."""
    return result["message"]


def _pages():
    """The ids of all samples in pieces, and those of them whose signature is not what it should be."""
    rows = DatasetSample.objects.order_by("id").values_list("id", *[f"signature__{name}" for name in COLUMNS])
    page = list(rows[:READ])
    while page:
        broken = [sample_id for sample_id, *found in page if not signatures.is_sound(sample_id, Signature(*found))]
        yield page, broken
        page = list(rows.filter(id__gt=page[-1][0])[:READ])


def _sentence(checked, made):
    told = ngettext("%(count)s sample checked", "%(count)s samples checked", checked) % {"count": f"{checked:,}"}
    if not made:
        return _("%(checked)s: every signature is up to date.") % {"checked": told}
    new = ngettext("%(count)s signature created", "%(count)s signatures created", made) % {"count": f"{made:,}"}
    return f"{told}, {new}."


JOB = Kind(
    run=run,
    label=gettext_lazy("Check signatures"),
    started=gettext_lazy("started to check signatures"),
    kept=gettext_lazy("Signatures already created are kept; the next run continues."),
    done=in_words,
    every=Schedule("schedule.signatureMinutes", MINUTE_MS, dict, is_needed),
)
