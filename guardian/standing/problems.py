"""Problems of prompts: memory files that are not in them, cut, or soon left out."""

from collections.abc import Iterable

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.models import Agent
from problems.kinds import Facts, Finding, Kind, Link

from ..collectors.provenance import AGENT
from ..files import MEMORY_FILES
from ..models import ProvenanceRecord, WriteGuardianAudit
from ..recording.reports import CHANGED
from .file_standing import Standing, State, read_standings
from .words import build_facts, format_facts

Origin, Status = WriteGuardianAudit.Origin, WriteGuardianAudit.Status
CLOCKS_MS = 10_000  # between a record and an earlier write of this site or the plugin


class Writer(models.TextChoices):
    """The writer of a change, other than the agent itself."""

    PLUGIN = "plugin"
    SITE = "site"
    UNKNOWN = "unknown"


PAST_WRITERS = {
    Writer.PLUGIN: gettext_lazy("Before that session, the plugin had written it."),
    Writer.SITE: gettext_lazy("Before that session, this site had written it."),
    Writer.UNKNOWN: gettext_lazy("No write of anybody else is known before that session."),
}
LAST_WRITERS = {
    Writer.PLUGIN: gettext_lazy("The plugin wrote it last."),
    Writer.SITE: gettext_lazy("This site wrote it last."),
    Writer.UNKNOWN: gettext_lazy("Who wrote it last is not known."),
}
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


# The states that need a person, and how bad each is.
SEVERITIES = {State.LEFT_OUT: 80, State.WILL_BE_LEFT_OUT: 68, State.UNEXPLAINED: 67, State.CUT: 50}


def check_standings(agent: Agent) -> Iterable[Finding]:
    """Return the memory files that are not whole in the prompt or soon left out."""
    findings = []
    for standing in read_standings(agent, MEMORY_FILES):
        # A file that was removed without OpenClaw is left out as soon as the agent writes it again.
        state = State.WILL_BE_LEFT_OUT if standing.will_be_left_out else standing.state
        if state in SEVERITIES:
            facts = build_facts(standing) | {"file": standing.file_name, "state": state.value}
            if state in (State.LEFT_OUT, State.WILL_BE_LEFT_OUT):
                facts["writer"] = find_last_writer(agent.db, standing).value
            severity = SEVERITIES[state]
            since = standing.since if state == State.LEFT_OUT else None
            findings.append(Finding(standing.file_name, facts, level=severity, severity=severity, since=since))
    return sorted(findings, key=lambda finding: -(finding.severity or 0))


def describe_standing(facts: Facts) -> str:
    """Return a sentence about the problem of a file and its last writer."""
    values = format_facts(facts) | {"file": facts["file"], "agent": facts["agent"]}
    state = State(facts["state"])
    if state == State.UNEXPLAINED:
        return _("The prompt of %(time)s does not hold %(file)s of %(agent)s, and nothing says why.") % values
    if state == State.CUT:
        return _("OpenClaw's limit cuts %(file)s of %(agent)s. Not in the prompt: %(lost)s.") % values
    writer = Writer(facts["writer"])
    if state == State.LEFT_OUT:
        sentence = _(
            "OpenClaw has left %(file)s of %(agent)s out of every prompt since %(since)s, because of a write in the "
            "session %(session)s."
        )
        return f"{sentence % values} {PAST_WRITERS[writer]}"
    warning = _("The agent's next write takes %(file)s of %(agent)s out of the prompt.") % values
    return f"{warning} {LAST_WRITERS[writer]}"


NOT_IN_PROMPT = Kind(
    label=gettext_lazy("Memory file not in prompts"),
    severity=SEVERITIES[State.LEFT_OUT],
    describe=describe_standing,
    link=lambda facts: Link(gettext_lazy("View file"), "guardian:file_detail", (facts["agent"], facts["file"])),
    check_agent=check_standings,
    probe=lambda: ("provenance_records", "prompt_reports"),
)
