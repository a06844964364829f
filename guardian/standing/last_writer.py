"""Finds who wrote a memory file last, from writes, versions and records."""

from django.db import models

from ..collectors.provenance import AGENT
from ..models import ProvenanceRecord, WriteGuardianAudit
from .file_standing import Standing, State

Origin, Status = WriteGuardianAudit.Origin, WriteGuardianAudit.Status
CHANGED = (Status.WRITTEN, Status.ROLLED_BACK)
CLOCKS_MS = 10_000  # between a record and an earlier write of this site or the plugin


class Writer(models.TextChoices):
    """The writer of a change, other than the agent itself."""

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
    """Return who wrote a file last.

    For a file that is left out, it is the last writer before the agent's write in its record.
    """
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
    """Return when the last trusted record before the present one was observed, else 0.

    Earlier writes do not count: the file was the agent's then.
    """
    rows = ProvenanceRecord.objects.using(db).filter(file_name=standing.file_name, origin_class=AGENT)
    rows = rows.filter(observed_at__lt=standing.since or 0)
    return rows.order_by("-first_seen_at", "-id").values_list("observed_at", flat=True).first() or 0
