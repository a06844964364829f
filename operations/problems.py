"""Problems of the site itself: missing restore tests, and a disk that is almost full."""

from collections.abc import Iterable

from django.conf import settings
from django.utils.translation import gettext_lazy

from openclaw_web.disk import reserve
from overview.models import AgentSummary
from problems.kinds import Finding, Kind, Link, is_any

from .backups import runs


def check_backup() -> Iterable[Finding]:
    """Find out whether no backup was restored lately although there are data to lose."""
    proven_at = runs.find_last_proven_at()
    if AgentSummary.objects.exists() and runs.is_overdue(proven_at):
        yield Finding(facts={"proven_at": proven_at}, since=proven_at)


def check_disk() -> Iterable[Finding]:
    """Find out whether the disk of the home is almost full."""
    if reserve.is_short(settings.HOME_DIR):
        yield Finding(facts={"folder": str(settings.HOME_DIR)})


BACKUP = Kind(
    label=gettext_lazy("Backups"),
    severity=32,
    describe=lambda facts: runs.get_advice(facts["proven_at"]),
    link=lambda _facts: Link(gettext_lazy("Back up"), "operations:backup_list"),
    check=check_backup,
    seen_by="operator",
)
DISK = Kind(
    label=gettext_lazy("Disk"),
    severity=96,
    describe=gettext_lazy("%(folder)s has almost no free space left."),
    link=lambda _facts: Link(gettext_lazy("Free space"), "operations:retention"),
    check=check_disk,
    role="admin",
    seen_by="operator",
    causes=dict.fromkeys(("import_failed", "task_failed", "unchecked", "findings_behind", "watcher"), is_any),
)
