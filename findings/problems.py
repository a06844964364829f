"""Problems of the scan for personal data and secrets: texts that waited too long."""

from collections.abc import Iterable

from django.db.models import Max
from django.utils.translation import gettext_lazy

from agents import holdings
from agents.models import Agent
from jobs.kinds import DAY_MS
from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from problems.kinds import BY_COUNT, Finding, Kind, Link

from . import scan, transcript_scan
from .detection import read_version
from .models import FindingScan

MOST = 200  # sessions that are looked up


def check_behind(agent: Agent) -> Iterable[Finding]:
    """Yield that imported sessions of an agent have waited for a scan for a day."""
    last = FindingScan.objects.using(agent.db).aggregate(last=Max("scanned_at"))["last"]
    if last is not None and clock.is_recent(last, DAY_MS):
        return
    waiting = transcript_scan.find_unscanned(agent.db, read_version(), most=MOST)
    since = min(holdings.read_noted_times(agent.agent_id, waiting).values(), default=None)
    if since is not None and since < clock.now_ms() - DAY_MS:
        yield Finding(facts={"count": scan.count_unscanned(agent.db)}, level=len(waiting), since=since)


BEHIND = Kind(
    label=gettext_lazy("Texts wait for the scan"),
    severity=45,
    describe=ngettext_lazy(
        "%(count)s text of %(agent)s has not been scanned for personal data and secrets for more than a day.",
        "%(count)s texts of %(agent)s have not been scanned for personal data and secrets for more than a day.",
        BY_COUNT,
    ),
    link=lambda _facts: Link(gettext_lazy("View jobs"), "jobs:job_list"),
    check_agent=check_behind,
    probe=lambda: ("transcript_events",),
)
