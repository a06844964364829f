"""Lockout after too many wrong passwords, and its entries in the audit log.

django-axes counts the failures; it locks a name together with an address.
"""

from collections.abc import Collection
from datetime import timedelta

from axes.models import AccessAttempt
from axes.utils import reset
from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from openclaw_web import clock

from ..audit import log as audit
from ..models import User
from ..models.bookkeeping import AuditEntry

NOTED_EVERY_MS = 60_000


def locked_names(names: Collection[str]) -> set[str]:
    """Those of `names` that are locked for at least one address."""
    since = timezone.now() - timedelta(hours=settings.AXES_COOLOFF_TIME)
    attempts = AccessAttempt.objects.filter(username__in=names, attempt_time__gte=since)
    failures = attempts.values("username", "ip_address").annotate(failures=Sum("failures_since_start"))
    return set(failures.filter(failures__gte=settings.AXES_FAILURE_LIMIT).values_list("username", flat=True))


def unlock(user: User, *, by: str) -> None:
    """Forget the wrong passwords for a user, who may try again at once from everywhere."""
    with transaction.atomic():
        if reset(username=user.username):
            audit.record(by, "unlocked", object_type="user", object_id=user.username)


def correct_future_times() -> None:
    """Set the times of wrong passwords in the future to now.

    Otherwise their names would remain locked until then.
    """
    now = timezone.now()
    AccessAttempt.objects.filter(attempt_time__gt=now).update(attempt_time=now)


def note_failed_sign_in(typed: str, *, is_locked: bool) -> None:
    """Record a wrong password in the audit log, once a minute for each name.

    The limit keeps outsiders from filling the log.
    """
    # Only existing names are recorded: other text in that field may be a password.
    name = typed if User.objects.filter(username=typed).exists() else ""
    action = "locked_out" if is_locked else "sign_in_failed"
    recent_entries = AuditEntry.objects.filter(
        object_type="user", object_id=name, action=action, at__range=(clock.now_ms() - NOTED_EVERY_MS, clock.now_ms())
    )
    if not recent_entries.exists():
        audit.record("", action, object_type="user", object_id=name)
