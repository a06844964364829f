"""The job that sends notifications, and the problem that they do not get through."""

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from ulid import ULID

from jobs.kinds import MINUTE_MS, Kind, Schedule
from jobs.progress import Progress
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration
from problems import kinds as problem_kinds

from ..models import Notification
from . import delivery, outbox

MINUTES = "schedule.notifyMinutes"


def run(params: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Send what waits, or a test message. Raises Refused for a test that fails."""
    if params.get("test"):
        return _send_test()
    outbox.collect_problems()
    sent, failures = outbox.send_due()
    words = ngettext("%(count)s message sent.", "%(count)s messages sent.", sent) % {"count": sent}
    return {"message": failures[0] if failures else words, "sent": sent, "failed": len(failures)}


def _send_test():
    channels = delivery.find_channels()
    nobody = _("No receiver: set OPENCLAW_WEB_WEBHOOK_URL, or OPENCLAW_WEB_SMTP_URL and the mail address.")
    sentences = [] if channels else [nobody]
    for channel in channels:
        try:
            delivery.SENDERS[channel](f"test-{ULID()}", outbox.build_body([]))
            outbox.store_success(channel, "")
        except Refused as refused:
            sentences.append(refused.sentence)
    if sentences:
        raise Refused(" ".join(sentences))
    return {"message": _("The test message was sent: %(channels)s.") % {"channels": ", ".join(channels)}}


def check_receivers() -> Iterable[problem_kinds.Finding]:
    """Yield the receivers whose last message failed."""
    channels = delivery.find_channels() if configuration.get_number(MINUTES) else []
    for row in Notification.objects.filter(channel__in=channels).exclude(failure="").order_by("id"):
        yield problem_kinds.Finding(row.channel, {"reason": row.failure})


JOB = Kind(
    run=run,
    label=gettext_lazy("Notifications"),
    audit_text=gettext_lazy("started the sending of notifications"),
    cancel_text=gettext_lazy("Messages already sent remain sent; the others are sent later."),
    schedule=Schedule(MINUTES, MINUTE_MS, dict, outbox.has_work),
)
NOT_NOTIFIED = problem_kinds.Kind(
    label=gettext_lazy("Notifications do not get through"),
    severity=84,
    describe=gettext_lazy("Notifications do not get through: %(reason)s"),
    link=lambda _facts: problem_kinds.Link(gettext_lazy("View jobs"), "jobs:job_list", query={"kind": outbox.KIND}),
    check=check_receivers,
    seen_by="operator",
)
