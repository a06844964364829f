"""Problems of prompts: memory files that are not in them, cut, or soon left out."""

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.models import Agent
from problems.kinds import Facts, Finding, Kind, Link

from ..files import MEMORY_FILES
from .file_standing import Standing, State, read_standings
from .last_writer import Writer, find_last_writer
from .words import build_facts, format_facts

# The states that need a person, and how bad each is.
SEVERITIES = {State.LEFT_OUT: 80, State.WILL_BE_LEFT_OUT: 68, State.UNEXPLAINED: 67, State.CUT: 50}


def check_standings(agent: Agent) -> Iterable[Finding]:
    """Return the memory files that are not whole in the prompt or soon left out."""
    findings = []
    for standing in read_standings(agent, MEMORY_FILES):
        state = _read_state(standing)
        if state in SEVERITIES:
            findings.append(_build_finding(agent, standing, state))
    return sorted(findings, key=lambda finding: -(finding.severity or 0))


def _build_finding(agent, standing, state):
    facts = build_facts(standing) | {"file": standing.file_name, "state": state.value}
    if state in (State.LEFT_OUT, State.WILL_BE_LEFT_OUT):
        facts["writer"] = find_last_writer(agent.db, standing).value
    severity = SEVERITIES[state]
    since = standing.since if state == State.LEFT_OUT else None
    return Finding(standing.file_name, facts, level=severity, severity=severity, since=since)


def _read_state(standing: Standing) -> State:
    """Return the state to report.

    A file that was removed without OpenClaw is left out as soon as the agent writes it again.
    """
    return State.WILL_BE_LEFT_OUT if standing.will_be_left_out else standing.state


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
        return f"{sentence % values} {_describe_past_writer(writer)}"
    warning = _("The agent's next write takes %(file)s of %(agent)s out of the prompt.") % values
    return f"{warning} {_describe_last_writer(writer)}"


def _describe_past_writer(writer):
    return {
        Writer.PLUGIN: _("Before that session, the plugin had written it."),
        Writer.SITE: _("Before that session, this site had written it."),
        Writer.UNKNOWN: _("No write of anybody else is known before that session."),
    }[writer]


def _describe_last_writer(writer):
    return {
        Writer.PLUGIN: _("The plugin wrote it last."),
        Writer.SITE: _("This site wrote it last."),
        Writer.UNKNOWN: _("Who wrote it last is not known."),
    }[writer]


NOT_IN_PROMPT = Kind(
    label=gettext_lazy("Memory file not in prompts"),
    severity=SEVERITIES[State.LEFT_OUT],
    describe=describe_standing,
    link=lambda facts: Link(gettext_lazy("View file"), "guardian:file_detail", (facts["agent"], facts["file"])),
    check_agent=check_standings,
    probe=lambda: ("provenance_records", "prompt_reports"),
)
