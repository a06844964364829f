"""Which backups are there."""

from pathlib import Path

from ..models import BackupRun


def paths(most: int) -> list[str]:
    """The archives of the newest `most` backups, as far as they are where they were written."""
    rows = BackupRun.objects.exclude(archive_path="").order_by("-created_at").values_list("archive_path", flat=True)
    return [path for path in rows[:most] if Path(path).exists()]
