"""Skips: samples that a person leaves to others, or for later."""

from django.db import transaction
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused

from ..models import DatasetSample, ReviewAction, SampleClaim


def skip_sample(sample_id: str, *, by: str) -> None:
    """Leave a sample out of this person's queue. Raises Refused for no sample.

    It stays out until they ask for their skipped samples.
    """
    with transaction.atomic():
        if not DatasetSample.objects.filter(id=sample_id).exists():
            raise Refused(_("This sample no longer exists. Go back to the list."))
        ReviewAction.objects.create(actor=by, kind=ReviewAction.Kind.SKIP, at=clock.now_ms(), sample_id=sample_id)
        SampleClaim.objects.filter(sample_id=sample_id, claimed_by=by).delete()
