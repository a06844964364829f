"""The problem that rules stopped approving samples."""

from collections.abc import Iterable

from django.utils.translation import gettext_lazy

from openclaw_web.amounts import ngettext_lazy
from problems.kinds import BY_COUNT, Finding, Kind, Link

from ..models import ApprovalStop

Reason = ApprovalStop.Reason
STOP_WORDS = {
    Reason.WRONG: gettext_lazy("People disagreed too often."),
    Reason.UNCERTAIN: gettext_lazy("After 60 checks, the error may still be above the limit."),
    Reason.WAITING: gettext_lazy("50 checks wait for a verdict."),
}


def check_stop() -> Iterable[Finding]:
    """Find the stop in force."""
    stop = ApprovalStop.objects.filter(resumed_at=None).order_by("-id").first()
    if stop:
        facts = {"wrong": stop.wrong, "checked": stop.right + stop.wrong, "count": len(stop.returned)}
        yield Finding(facts=facts, since=stop.stopped_at)


APPROVAL_STOPPED = Kind(
    label=gettext_lazy("Approval by rules stopped"),
    severity=60,
    describe=ngettext_lazy(
        "Rules stopped approving samples: people disagreed with %(wrong)s of %(checked)s. %(count)s sample "
        "needs review now.",
        "Rules stopped approving samples: people disagreed with %(wrong)s of %(checked)s. %(count)s samples "
        "need review now.",
        BY_COUNT,
    ),
    link=lambda _facts: Link(gettext_lazy("View"), "datasets:collection_list"),
    check=check_stop,
    role="labeller",
    seen_by="labeller",
)
