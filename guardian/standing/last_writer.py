"""Who wrote a memory file last, as far as writes, versions and records say."""

from django.db import models

from ..collectors.provenance import AGENT
from ..models import ProvenanceRecord, WriteGuardianAudit
from .file_standing import Standing, State

Origin, Status = WriteGuardianAudit.Origin, WriteGuardianAudit.Status
CHANGED = (Status.WRITTEN, Status.ROLLED_BACK)
CLOCKS_MS = 10_000  # between a record and the write of ours or of the plugin that came before it


class Writer(models.TextChoices):
    """Whose write changed a file, other than the agent's own."""

    PLUGIN = "plugin"
    SITE = "site"
    UNKNOWN = "unknown"


WRITERS = {
    Origin.RECORDED: Writer.PLUGIN,
    Origin.IMPORTED: Writer.PLUGIN,
    Origin.OWN: Writer.SITE,
    Origin.ROLLBACK: Writer.SITE,
}


def find_last_writer(db: str, standing: Standing) -> Writer:
    """Who wrote last before the agent's write that a fallen file is left out for; else who wrote last of all."""
    rows = WriteGuardianAudit.objects.using(db).filter(target_file=standing.file_name, status__in=CHANGED)
    rows = rows.exclude(origin=Origin.AGENT)
    rows = rows.filter(created_at__gt=_trusted_until(db, standing))
    since = standing.since or 0
    is_fallen = standing.state == State.LEFT_OUT
    rows = rows.filter(created_at__lte=since + CLOCKS_MS) if is_fallen else rows.filter(created_at__gt=since)
    origins = rows.order_by("-created_at").values_list("origin", "after_snapshot__content_hash")
    for origin, content_hash in origins[:2]:
        if is_fallen and content_hash == standing.record_hash:
            continue  # the agent's own write, which the record names
        return WRITERS.get(origin, Writer.UNKNOWN)
    return Writer.UNKNOWN


def _trusted_until(db, standing):
    """When a record last said that the file was the agent's, before the present one: what came earlier is settled."""
    rows = ProvenanceRecord.objects.using(db).filter(file_name=standing.file_name, origin_class=AGENT)
    rows = rows.filter(observed_at__lt=standing.since or 0)
    return rows.order_by("-first_seen_at", "-id").values_list("observed_at", flat=True).first() or 0
