"""Steps through the queue: a verdict or skip, and the next claim, in one transaction."""

from typing import Any

from openclaw_web.sqlite import write_queue
from people.audit import log as audit

from ..dedup import signatures
from ..finding_values import sample_privacy
from ..models import DatasetSample
from . import claims, skips, verdicts
from .claims import Claim
from .queues import Queue


def label_and_take_next(
    queue: Queue, sample_id: str, verdict: dict[str, Any], *, by: str, ahead: str = ""
) -> tuple[DatasetSample, Claim | None]:
    """Judge a sample; return it with the claim on the next one.

    The next one is behind this one, or behind `ahead`, which the page has already. `verdict` is as for `add_verdict`,
    and is refused as there: then no sample is claimed.
    """
    with write_queue.global_transaction():
        sample = verdicts.add_verdict(sample_id, by=by, **verdict)
        claim = _claim_next(queue, sample_id, ahead, by)
    signatures.ensure_signature(sample_id)
    sample_privacy.refresh_gate(sample_id)
    return sample, claim


def skip_and_take_next(queue: Queue, sample_id: str, *, by: str, ahead: str = "") -> Claim | None:
    """Skip a sample and claim the next one, as `label_and_take_next` does."""
    with write_queue.global_transaction():
        skips.skip_sample(sample_id, by=by)
        return _claim_next(queue, sample_id, ahead, by)


def _claim_next(queue, sample_id, ahead, by):
    besides = (sample_id, ahead) if ahead else (sample_id,)
    claim = claims.take_following(queue, by=by, after=ahead or sample_id, besides=besides)
    if claim:  # the answer shows the sample
        audit.record(by, "read", object_type="sample", object_id=claim.sample_id)
    return claim
