"""Names of the doctor's reasons on its page."""

from django.utils.translation import gettext_lazy as _

from openclaw_web.pages import states

# Reasons for reading or skipping a source that are not words of a state.
WHY_WORDS = {
    "appended": _("records were added"),
    "imported": _("imported before"),
    "not_listed": _("not an imported type"),
    "opted_out": _("somebody opted out"),
    "secret": _("May contain secrets"),
    "truncated": _("shorter than before"),
    "undone": _("its import was undone"),
}


def why_word(why):
    """The name of a reason such as `opted_out`."""
    return str(WHY_WORDS.get(why) or states.word(why))


FILTERS = {why_word.__name__: why_word}
