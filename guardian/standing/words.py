"""The standing of a memory file in words: a badge, a sentence, and its numbers."""

from collections.abc import Mapping
from typing import Any

from django.utils.html import strip_tags
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import amounts
from openclaw_web.pages import states
from openclaw_web.pages.formatting import moment, number

from .file_standing import Standing, State

FACTS = ("raw_chars", "injected_chars", "lost_chars", "reported_at", "since", "session_key", "session_id")
LABELS = {
    State.IN_PROMPT: gettext_lazy("In the prompt"),
    State.CUT: gettext_lazy("Cut in the prompt"),
    State.MISSING: states.STATES["missing"].word,
    State.LEFT_OUT: gettext_lazy("Left out of the prompt"),
    State.WILL_BE_LEFT_OUT: gettext_lazy("Will be left out"),
    State.NO_RECORD: gettext_lazy("In the prompt, writer unknown"),
    State.NO_REPORT: gettext_lazy("No report"),
    State.LINKED: gettext_lazy("Linked"),
    State.NOT_KNOWN: gettext_lazy("Not known"),
    State.UNEXPLAINED: gettext_lazy("Not in the prompt"),
}
TONES = {
    State.IN_PROMPT: "ok",
    State.NO_RECORD: "ok",
    State.CUT: "warn",
    State.WILL_BE_LEFT_OUT: "warn",
    State.NOT_KNOWN: "warn",
    State.LINKED: "warn",
    State.LEFT_OUT: "bad",
    State.UNEXPLAINED: "bad",
}


def standing_label(state):
    """Return the label of a state: `left_out` is “Left out of the prompt”."""
    return str(LABELS.get(state, state))


def standing_tone(state):
    """Return the tone of the badge of a state; empty for a plain one."""
    return TONES.get(state, "")


def standing_sentence(standing: Standing) -> str:
    """Return a sentence about the state of a file, with its numbers."""
    sentence = {
        State.IN_PROMPT: _("The prompt holds %(injected)s of %(chars)s of this file."),
        State.CUT: _("OpenClaw's limit cuts this file: the prompt holds %(injected)s of %(chars)s. Lost: %(lost)s."),
        State.MISSING: _("The workspace has no such file."),
        State.LEFT_OUT: _(
            "OpenClaw has left this file out of every prompt since %(since)s, because of the write in the session "
            "%(session)s."
        ),
        State.WILL_BE_LEFT_OUT: _(
            "The agent's next write takes this file out of the prompt: somebody else has changed it since the agent "
            "wrote it at %(since)s."
        ),
        State.NO_RECORD: _(
            "The prompt holds %(injected)s of %(chars)s of this file. OpenClaw has no record of it and "
            "counts it as the agent's."
        ),
        State.NO_REPORT: _("No ordinary session has reported yet whether its prompt holds this file."),
        State.LINKED: _("The file is a link or has a second name. OpenClaw puts no such file into a prompt."),
        State.NOT_KNOWN: _(
            "Nobody can say whether OpenClaw keeps this file in the prompt: its record of the file, or the file "
            "itself, cannot be read here."
        ),
        State.UNEXPLAINED: _("The prompt of %(time)s does not hold this file, and nothing says why."),
    }[standing.state] % format_facts(build_facts(standing))
    if standing.state == State.MISSING and standing.will_be_left_out:
        warning = _("OpenClaw still has a record of it: once the agent writes it again, it is left out.")
        return f"{sentence} {warning}"
    if standing.is_forecast and standing.state in (State.IN_PROMPT, State.CUT, State.NO_RECORD):
        forecast = _("This is a forecast: the newest prompt, of %(time)s, is older than the file.")
        return f"{sentence} {forecast % {'time': _format_time(standing.reported_at)}}"
    return sentence


def lines_sentence(standing: Standing, written_at: int) -> str:
    """Return a sentence about lines that were written at `written_at`, in milliseconds."""
    if standing.reported_at is not None and standing.reported_at < written_at:
        time = _format_time(standing.reported_at)
        return _("In no prompt yet: the newest prompt, of %(time)s, is older than this write.") % {"time": time}
    return standing_sentence(standing)


def build_facts(standing: Standing) -> dict[str, Any]:
    """Return the values that sentences about a standing need."""
    return {name: getattr(standing, name) for name in FACTS}


def format_facts(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the numbers, times and names of these values as text for sentences."""
    return {
        "injected": number(facts["injected_chars"] or 0),
        "chars": amounts.format_amount("characters", facts["raw_chars"] or 0),
        "lost": amounts.format_amount("characters", facts["lost_chars"]),
        "time": _format_time(facts["reported_at"]),
        "since": _format_time(facts["since"]),
        "session": facts["session_key"] or facts["session_id"] or "–",
    }


def _format_time(ms):
    return strip_tags(moment(ms)) if ms else "–"


FILTERS = {made.__name__: made for made in (standing_label, standing_tone, standing_sentence, lines_sentence)}
