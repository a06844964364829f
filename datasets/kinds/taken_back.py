"""Samples of writes that were rolled back: people judged these before, so they need review."""

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import databases
from agents.models import Agent
from guardian.models import Rollback, WriteGuardianAudit
from jobs.kinds import BY_SCHEDULE, Kind
from openclaw_web.batches import in_batches
from openclaw_web.sqlite import write_queue

from ..models import DatasetSample, SampleClaim
from ..review import parts, verdicts
from . import write as writes

BATCH = 500


def send_to_review(db: str, audit_id: str, *, by: str) -> None:
    """Send the approved sample of a write to review; TAKEN_BACK of the settings names this function.

    A sample that teaches a correction of the write stays approved. `by` rolled the write back.
    """
    for agent in Agent.objects.filter(agent_id=db.removeprefix("agent_")):  # none: the file of a comparison
        _send(agent, {audit_id: by})


def run(_params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Send to review what was rolled back before this site did so at each rollback.

    Running it again goes on with what is left.
    """
    count = 0
    for agent in Agent.objects.order_by("agent_id").iterator():
        if (db := databases.find_alias(agent.agent_id)) is None:
            continue
        rows = WriteGuardianAudit.objects.using(db).taken_back()
        ids = rows.order_by("id").values_list("id", flat=True).iterator(chunk_size=BATCH)
        for batch in in_batches(ids, BATCH):
            rollbacks = Rollback.objects.using(db).filter(audit_id__in=batch)
            count += _send(agent, dict.fromkeys(batch, "") | dict(rollbacks.values_list("audit_id", "rolled_back_by")))
            progress.update(count, None)
    message = ngettext("%(count)s sample sent to review.", "%(count)s samples sent to review.", count)
    return {"message": message % {"count": f"{count:,}"}, "count": count}


def _send(agent: Agent, who_by_write: dict[str, str]) -> int:
    sent = 0
    for sample_id, who in list(_find_approved(agent, who_by_write)):
        with write_queue.global_transaction():
            SampleClaim.objects.filter(sample_id=sample_id).delete()  # nobody's verdict on the sample as it was counts
            if DatasetSample.objects.approved().filter(id=sample_id).exists():
                note = _("The write was rolled back.")
                verdicts.add_verdict(sample_id, DatasetSample.Status.NEEDS_REVIEW, by=who or BY_SCHEDULE, notes=note)
                sent += 1
    return sent


def _find_approved(agent, who_by_write) -> Iterable[tuple[str, str]]:
    """The approved samples of writes, but for those that teach a correction, with who rolled the write back."""
    ids = writes.find_sample_ids(agent, who_by_write)
    rows = DatasetSample.objects.approved().filter(id__in=list(ids)).values_list("id", "guardian_label")
    return ((sample_id, who_by_write[ids[sample_id]]) for sample_id, label in rows if label != parts.CORRECTED)


JOB = Kind(
    run=run,
    label=gettext_lazy("Send samples of rolled back writes to review"),
    audit_text=gettext_lazy("started to send samples of rolled back writes to review"),
    cancel_text=gettext_lazy("Samples already sent are kept in the queue; the next run continues."),
)
