"""Reasons of rejects: codes of a setting, given with the verdict or after it."""

from django.utils.translation import gettext as _
from ulid import ULID

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite import rows, write_queue
from people.audit import log as audit
from people.configuration import catalogue
from people.configuration import setting_values as configuration

from ..models import DatasetSample, ReviewAction, SampleLabel

SETTING = "review.rejectReasons"
REJECTED = DatasetSample.Status.REJECTED


def read_choices() -> dict[str, str]:
    """The codes to choose from, with their names, in the order of the setting."""
    return catalogue.parse_reasons(configuration.get_texts(SETTING))


def check_reason(reason: str | None, status: str) -> str | None:
    """The reason to store. Raises Refused for unknown codes and other verdicts than rejects."""
    if not reason:
        return None
    if status != REJECTED:
        raise Refused(_("Only rejected samples take a reason. Leave the reason out, or reject the sample."))
    codes = read_choices()
    if reason not in codes:
        names = listed(codes) or _("none, because the setting %(name)s is empty") % {"name": SETTING}
        raise Refused(
            _("There is no reason %(reason)s. Choose one of: %(names)s.") % {"reason": reason, "names": names}
        )
    return reason


def give_reason(label_id: str, reason: str, *, by: str) -> DatasetSample:
    """Give the reason of a reject after the verdict `label_id` of the same person.

    Verdicts are never changed, so a row that amends the first takes its place; undo takes both back. Raises Refused for
    an unknown code, and when that verdict is not in force any more.
    """
    code = check_reason(reason, REJECTED)
    if code is None:
        raise Refused(_("Choose a reason."))
    with write_queue.global_transaction():
        label = SampleLabel.objects.filter(id=label_id, labelled_by=by, status=REJECTED, bulk_id=None).first()
        sample = label and DatasetSample.objects.filter(id=label.sample_id, label_id=label_id).defer("content").first()
        if not label or not sample:
            raise Refused(_("This verdict is no longer in force, so its reason was not saved."))
        sample.reject_reason, sample.label_id = code, str(ULID())
        sample.save(update_fields=["reject_reason", "label_id"])
        _amend_label(label, sample)
        audit.record(
            by, "reason_given", object_type="sample", object_id=sample.id, agent_id=sample.agent_id, reason=code
        )
    return sample


def _amend_label(label, sample):
    """Add a row that repeats `label` with its reason; its action now counts for both."""
    first, by = label.id, label.labelled_by
    label.id, label.amends, label.reason, label.labelled_at = (
        sample.label_id,
        first,
        sample.reject_reason,
        clock.now_ms(),
    )
    rows.insert_row(label)
    done_actions = ReviewAction.objects.filter(actor=by, label_id=first, state=ReviewAction.State.DONE)
    done_actions.update(label_id=label.id)
