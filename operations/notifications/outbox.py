"""Messages about problems that wait to be sent: what goes into one, when it is tried, and when it is given up."""

import json
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Max, Min, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from ulid import ULID

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.pages import states
from openclaw_web.pages.zones import find_zone
from people.configuration import setting_values as configuration
from people.configuration.catalogue import QUIET
from problems import kinds
from problems.models import Problem

from ..models import Notification
from . import delivery

KIND = "notifications"  # of its job
MOST_ATTEMPTS = 10  # in about four hours
MOST_WAITING = 20  # messages: problems that begin meanwhile go out together afterwards
# Problems of notifications themselves, which would go round in a circle.
OWN = Q(kind="not_notified") | Q(kind="task_failed", subject=KIND)


def has_work() -> bool:
    """Whether something can be sent now."""
    if quiet := QUIET.fullmatch(configuration.get_text("notifications.quietHours")):
        begin, end, zone = quiet.groups("UTC")
        local = f"{datetime.fromtimestamp(clock.now_ms() / 1000, find_zone(zone)):%H:%M}"
        if begin <= local < end or (begin > end and not end <= local < begin):
            return False
    return any(find_due(channel) or find_unsent().exists() for channel in delivery.find_channels())


def find_unsent() -> QuerySet[Problem]:
    """The open problems that nobody has seen, and that were in no message since they opened or became an error."""
    if Notification.objects.filter(attempts__lt=MOST_ATTEMPTS).count() >= MOST_WAITING:
        return Problem.objects.none()
    least = kinds.WARNING if configuration.is_on("notifications.warnings") else kinds.ERROR
    rows = Problem.objects.filter(state=Problem.State.OPEN, seen_at=None, is_counted=True, severity__gte=least)
    return rows.filter(severity__gt=F("notified_severity")).exclude(OWN)


def find_due(channel: str) -> Notification | None:
    """The oldest message of a channel; None until the pause after its last try is over: 1 minute, 2, 4, up to 64."""
    row = Notification.objects.filter(channel=channel, attempts__lt=MOST_ATTEMPTS).order_by("id").first()
    is_paused = row and row.tried_at and clock.is_recent(row.tried_at, 30_000 * 2 ** min(row.attempts, 7))
    return None if is_paused else row


def collect_problems() -> None:
    """Make the problems that were in no message one message for each receiver."""
    with transaction.atomic():  # IMMEDIATE: of two processes, the second one finds no problem
        unsent = find_unsent()
        groups = unsent.values("kind").annotate(count=Count("id"), severity=Max("severity"), since=Min("since_at"))
        if (channels := delivery.find_channels()) and (problems := list(groups.order_by("-severity", "kind"))):
            body = build_body(problems)
            for channel in channels:
                Notification.objects.create(id=str(ULID()), channel=channel, body=body)
            unsent.update(notified_severity=F("severity"))


def build_body(problems: list[dict[str, Any]]) -> str:
    """Build the JSON of a message: counts, links and words of our own, nothing that an agent or a person wrote.

    Without problems it is a test.
    """
    site = configuration.get_text("notifications.siteAddress").rstrip("/")
    count = sum(problem["count"] for problem in problems)
    title = ngettext("OpenClaw Web: %(count)s new problem", "OpenClaw Web: %(count)s new problems", count)
    lines = [title % {"count": count} if problems else _("OpenClaw Web: this is a test message")]
    for problem in problems:
        kind, is_error = kinds.find(problem["kind"]), problem["severity"] >= kinds.ERROR
        link = f"{site}{reverse('operations:system')}?kind={problem['kind']}&segment=open"
        words = {"label": kind.label if kind else problem["kind"], "since": clock.format_utc(max(problem["since"], 0))}
        words |= {"severity": _("Error") if is_error else states.word("warning"), "count": problem["count"]}
        lines += ["", _("%(severity)s: %(label)s, %(count)s new since %(since)s") % words, link]
        problem |= {"severity": "error" if is_error else "warning", "link": link}
    return json.dumps({"site": site, "text": "\n".join(lines), "problems": problems})


def send_due() -> tuple[int, list[str]]:
    """Send the messages that are due, the oldest first; return how many were sent, and the failures."""
    sent, failures = 0, []
    for channel in delivery.find_channels():
        rows = Notification.objects.filter(channel=channel)
        while row := find_due(channel):
            # Counted before it begins: another process does not make the same try, and no kill makes tries endless.
            tried = {"attempts": row.attempts + 1, "tried_at": clock.now_ms()}
            if not rows.filter(id=row.id, attempts=row.attempts).update(**tried):
                continue
            try:
                delivery.SENDERS[channel](row.id, row.body)
            except Refused as refused:
                failures.append(refused.sentence)
                rows.filter(id=row.id).update(failure=refused.sentence)
                rows.filter(id__lt=row.id).delete()  # those that were given up: this one says why
            else:
                sent += 1
                store_success(channel, row.id)
    return sent, failures


def store_success(channel: str, message_id: str) -> None:
    """Remove a message that was sent, and those that were given up: the receiver can be reached again."""
    rows = Notification.objects.filter(channel=channel)
    rows.filter(Q(id=message_id) | Q(attempts__gte=MOST_ATTEMPTS)).delete()
    rows.update(failure="")
