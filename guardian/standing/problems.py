"""What an operator should know of an agent's prompt: a memory file that is not in it, or soon will not be."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent
from gate.statistics.attention import Notice

from ..files import MEMORY_FILES
from .file_standing import Standing, State, standings
from .last_writer import Writer, last_writer
from .words import standing_values

# What needs somebody, the worst first.
STATES = (State.LEFT_OUT, State.WILL_BE_LEFT_OUT, State.UNEXPLAINED, State.CUT)


def notices(agent: Agent) -> list[Notice]:
    """One notice for the file that stands worst, with the number of other files that need somebody."""
    files = [standing for standing in standings(agent, MEMORY_FILES) if _state(standing) in STATES]
    if not files:
        return []
    files.sort(key=lambda standing: STATES.index(_state(standing)))
    sentence = describe_problem(agent, files[0])
    if others := len(files) - 1:
        more = ngettext(
            "%(count)s more memory file is not whole in the prompt.",
            "%(count)s more memory files are not whole in the prompt.",
            others,
        )
        sentence = f"{sentence} {more % {'count': others}}"
    return [Notice(sentence, "guardian:file_detail", args=(files[0].file_name,))]


def _state(standing):
    """The state to tell: a file that was removed behind OpenClaw's back falls when the agent writes it again."""
    return State.WILL_BE_LEFT_OUT if standing.will_be_left_out else standing.state


def describe_problem(agent: Agent, standing: Standing) -> str:
    """What is wrong with a file, and who wrote it last."""
    values = standing_values(standing) | {"file": standing.file_name}
    if standing.state == State.UNEXPLAINED:
        return _("The prompt of %(time)s does not hold %(file)s, and nothing says why.") % values
    if standing.state == State.CUT:
        return _("OpenClaw's limit cuts %(file)s. Not in the prompt: %(lost)s.") % values
    writer = last_writer(agent.db, standing)
    if standing.state == State.LEFT_OUT:
        fallen = _(
            "OpenClaw has left %(file)s out of every prompt since %(since)s, because of a write in the session "
            "%(session)s."
        )
        fallen %= values
        return f"{fallen} {_fallen_by(writer)}"
    falling = _("The agent's next write takes %(file)s out of the prompt.") % values
    return f"{falling} {_falling_by(writer)}"


def _fallen_by(writer):
    return {
        Writer.PLUGIN: _("Before that session, the plugin had written it."),
        Writer.SITE: _("Before that session, this site had written it."),
        Writer.UNKNOWN: _("No write of anybody else is known before that session."),
    }[writer]


def _falling_by(writer):
    return {
        Writer.PLUGIN: _("The plugin wrote it last."),
        Writer.SITE: _("This site wrote it last."),
        Writer.UNKNOWN: _("Who wrote it last is not known."),
    }[writer]
