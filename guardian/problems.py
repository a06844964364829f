"""Problems of memory files: waiting proposals, interrupted rollbacks, unknown writers."""

from collections.abc import Iterable

from django.utils.translation import gettext_lazy

from agents.models import Agent
from gate.problems import FAILING_SHARE, LEAST_CALLS
from gate.statistics.sums import DAY_MS
from ledger import consent
from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from problems.kinds import BY_COUNT, Facts, Finding, Kind, Link

from .detail import opted_out_lines
from .models import GuardianRun, GuardianStep, WriteGuardianAudit
from .recording.checks import find_open_intents
from .rollbacks import concurrent_edits
from .words import CONSOLIDATION

RECENT_MS = 7 * DAY_MS
MOST = 100  # rows that are counted
State = GuardianRun.State


def check_proposals(agent: Agent) -> Iterable[Finding]:
    """Yield the proposed writes that wait for a person, by file."""
    rows = GuardianRun.objects.using(agent.db).filter(state=State.PROPOSED).order_by("-created_at", "-id")
    by_file: dict[str, list[tuple[str, int]]] = {}
    for run_id, file, at in rows.values_list("id", "target_file", "created_at")[: MOST + 1]:
        by_file.setdefault(file, []).append((run_id, at))
    for file, runs in by_file.items():
        facts = {"file": file, "count": min(len(runs), MOST), "is_more": len(runs) > MOST, "run": runs[0][0]}
        yield Finding(file, facts, level=len(runs), since=runs[-1][1])


def link_proposals(facts: Facts) -> Link:
    """Link to the only proposal, or to all waiting ones."""
    label = gettext_lazy("Decide")
    if facts["count"] == 1:
        return Link(label, "guardian:proposal_detail", (facts["agent"], facts["run"]))
    return Link(label, "guardian:proposal_list", (facts["agent"],))


def check_interrupted(agent: Agent) -> Iterable[Finding]:
    """Yield interrupted rollbacks that were neither finished nor undone since."""
    for row in find_open_intents(agent.db).order_by("created_at")[:MOST]:
        yield Finding(row.file_name, {"file": row.file_name}, since=row.created_at)


def check_overtaken(agent: Agent) -> Iterable[Finding]:
    """Yield versions that somebody wrote during a rollback and nobody has decided on."""
    row = concurrent_edits.find_unsettled(agent.db).first()
    if row is not None:
        facts = {"file": row.file_name, "write": concurrent_edits.find_unsettled_write(agent.db)}
        yield Finding(row.file_name, facts, since=row.ended_at)


def link_overtaken(facts: Facts) -> Link:
    """Link to the write whose page asks about the version, or to the file's history."""
    label = gettext_lazy("Decide")
    if facts["write"] is None:
        return Link(label, "guardian:file_detail", (facts["agent"], facts["file"]))
    return Link(label, "guardian:audit_detail", (facts["agent"], facts["write"]))


def check_calls(agent: Agent) -> Iterable[Finding]:
    """Yield that many calls of our guardian failed in the last 24 hours."""
    now = clock.now_ms()
    steps = GuardianStep.objects.using(agent.db).filter(created_at__gte=now - DAY_MS, created_at__lte=now)
    outcomes = list(steps.order_by("-created_at").values_list("outcome", flat=True)[:MOST])
    failed = outcomes.count(GuardianStep.Outcome.FAILED)
    if len(outcomes) >= LEAST_CALLS and failed >= FAILING_SHARE * len(outcomes):
        yield Finding(facts={"failed": failed, "count": len(outcomes)}, level=10 * failed // len(outcomes))


def check_opted_out(agent: Agent) -> Iterable[Finding]:
    """Yield the number of lines in memory files that come from people who opted out."""
    if count := opted_out_lines.find_opted_out_lines(agent).line_count:
        yield Finding(facts={"count": count}, level=count)


def check_unattributed(agent: Agent) -> Iterable[Finding]:
    """Yield the unattributed changes of the last seven days that are still in force.

    The changes of the plugin's consolidation are explained, and those that somebody rolled back are settled.
    """
    now = clock.now_ms()
    rows = WriteGuardianAudit.objects.using(agent.db).filter(origin=WriteGuardianAudit.Origin.UNATTRIBUTED)
    rows = rows.filter(created_at__gte=now - RECENT_MS, created_at__lte=now, status=WriteGuardianAudit.Status.WRITTEN)
    rows = rows.exclude(reason=CONSOLIDATION, reason__isnull=False)
    moments = list(rows.order_by("-created_at").values_list("created_at", flat=True)[: MOST + 1])
    if moments:
        since = str(clock.day_of(now - RECENT_MS))
        facts = {"count": min(len(moments), MOST), "is_more": len(moments) > MOST, "from": since}
        yield Finding(facts=facts, level=len(moments), since=moments[0])


def link_unattributed(facts: Facts) -> Link:
    query = {"segment": "unattributed", "from": facts["from"]}
    return Link(gettext_lazy("View"), "guardian:audit_list", (facts["agent"],), query=query)


PROPOSAL_WAITING = Kind(
    label=gettext_lazy("Proposal waiting"),
    severity=64,
    describe=ngettext_lazy(
        "%(count)s proposal waits for %(file)s of %(agent)s.",
        "%(count)s proposals wait for %(file)s of %(agent)s.",
        BY_COUNT,
    ),
    link=link_proposals,
    check_agent=check_proposals,
    probe=lambda: ("guardian_runs WHERE state = 'proposed'",),
)
ROLLBACK_INTERRUPTED = Kind(
    label=gettext_lazy("Interrupted rollback"),
    severity=88,
    describe=gettext_lazy(
        "A rollback of %(file)s of %(agent)s was interrupted. Restart the site, or run “Import and repair”."
    ),
    link=lambda facts: Link(
        gettext_lazy("View"), "guardian:audit_list", (facts["agent"],), query={"file": facts["file"]}
    ),
    check_agent=check_interrupted,
    probe=lambda: ("rollback_intents WHERE ended_at IS NULL",),
)
ROLLBACK_OVERTAKEN = Kind(
    label=gettext_lazy("Change during a rollback"),
    severity=87,
    describe=gettext_lazy(
        "%(file)s of %(agent)s was changed while this site was writing to it. The change is not in the file."
    ),
    link=link_overtaken,
    check_agent=check_overtaken,
    probe=lambda: ("rollback_intents WHERE settled_at IS NULL AND NOT meanwhile_json = '[]'",),
)
CALLS_FAIL = Kind(
    label=gettext_lazy("Failed guardian calls"),
    severity=71,
    describe=ngettext_lazy(
        "%(failed)s of the latest %(count)s call of the guardian's model for %(agent)s failed.",
        "%(failed)s of the latest %(count)s calls of the guardian's model for %(agent)s failed.",
        BY_COUNT,
    ),
    link=lambda facts: Link(gettext_lazy("View"), "guardian:proposal_list", (facts["agent"],), query={"all": ""}),
    check_agent=check_calls,
    probe=lambda: (f"guardian_steps WHERE created_at >= {clock.now_ms() - DAY_MS}",),
)
OPTED_OUT_LINES = Kind(
    label=gettext_lazy("Lines of people who opted out"),
    severity=58,
    describe=ngettext_lazy(
        "%(count)s line of the memory files of %(agent)s comes from people who opted out.",
        "%(count)s lines of the memory files of %(agent)s come from people who opted out.",
        BY_COUNT,
    ),
    link=lambda facts: Link(gettext_lazy("View lines"), "guardian:opted_out", (facts["agent"],)),
    role="viewer",
    check_agent=check_opted_out,
    probe=lambda: ("write_guardian_audit",) if consent.read_opted_out() else (),
)
UNATTRIBUTED = Kind(
    label=gettext_lazy("Unattributed changes"),
    severity=40,
    describe=ngettext_lazy(
        "%(count)s change to memory files of %(agent)s in the last 7 days has no known author.",
        "%(count)s changes to memory files of %(agent)s in the last 7 days have no known author.",
        BY_COUNT,
    ),
    link=link_unattributed,
    role="viewer",
    check_agent=check_unattributed,
    probe=lambda: (
        f"write_guardian_audit WHERE origin = 'unattributed' AND created_at >= {clock.now_ms() - RECENT_MS}",
    ),
)
