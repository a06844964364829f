"""The word and the tone of every state, in one table.

The values are those of models, of the API and of OpenClaw. `ui.state` draws states; docs/design.md has the same table.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from . import glyphs

OK, WARN, BAD, INFO, RUNNING, PLAIN = "ok", "warn", "bad", "info", "running", ""
LONGEST_UNKNOWN = 60  # characters that are shown of an unknown value


class State(NamedTuple):
    """A state in one word, with the tone of its badge.

    The tone is ok, warn, bad, info, running or "".
    """

    word: str | Promise
    tone: str


# Each word with its tone, and the values that it stands for.
_WORDS = (
    # Work, ours and OpenClaw's.
    (_("Queued"), PLAIN, ("queued", "waiting")),
    (_("Running"), RUNNING, ("running", "in_progress", "started")),
    (_("Finished"), OK, ("finished", "succeeded", "success", "ok", "completed", "complete", "done", "ready")),
    (_("Refused"), WARN, ("refused",)),
    (_("Failed"), BAD, ("failed", "failure", "error", "dead")),
    (_("Timed out"), BAD, ("timed_out", "timeout")),
    (_("Stopped"), WARN, ("aborted", "killed", "stopped", "interrupted")),
    (_("Canceled"), WARN, ("cancelled", "canceled")),
    (_("Skipped"), PLAIN, ("skipped", "left")),
    (_("Ended"), PLAIN, ("ended",)),
    (_("Not finished"), INFO, ("not_finished",)),
    (_("Blocked"), WARN, ("blocked",)),
    (_("Delivered"), OK, ("delivered",)),
    (_("Not sent"), WARN, ("suppressed", "not-delivered", "not_delivered")),
    (_("Lost"), BAD, ("lost",)),
    (_("No result"), PLAIN, ("no_result",)),
    (_("Undone"), PLAIN, ("undone",)),
    (_("Rolled back"), INFO, ("rolled_back",)),
    (_("Replaced"), PLAIN, ("overtaken", "replaced")),
    (_("Decided"), OK, ("decided", "adjudicated")),
    (_("Sent"), INFO, ("sent",)),
    (_("Answered"), OK, ("answered",)),
    (_("Planned"), PLAIN, ("planned",)),
    (_("Exchanged"), INFO, ("exchanged",)),
    (_("Proposed"), INFO, ("proposed",)),
    (_("Declined"), WARN, ("declined",)),
    (_("Malformed"), BAD, ("malformed",)),
    (_("Unknown"), PLAIN, ("", "unknown")),
    (_("Known"), PLAIN, ("known",)),
    # Problems.
    (pgettext_lazy("problem", "Open"), INFO, ("open",)),
    (_("Seen"), PLAIN, ("seen",)),
    (_("Opened again"), WARN, ("opened_again",)),
    (_("Muted"), PLAIN, ("muted",)),
    (_("Closed"), PLAIN, ("closed",)),
    # Samples.
    (_("Pending"), PLAIN, ("pending",)),
    (_("Approved"), OK, ("approved",)),
    (_("Rejected"), BAD, ("rejected",)),
    (_("Confirmed"), BAD, ("confirmed",)),
    (_("Dismissed"), PLAIN, ("dismissed",)),
    (_("Added"), INFO, ("added",)),
    (_("Being released"), RUNNING, ("building",)),
    (_("Released"), OK, ("released",)),
    (_("Needs review"), WARN, ("needs_review",)),
    (_("Approved automatically"), OK, ("auto_approved",)),
    (_("Conflict"), WARN, ("conflict",)),
    # People, what lets them in, and what is switched on.
    (_("Active"), OK, ("active",)),
    (_("Locked"), WARN, ("locked",)),
    (_("Deactivated"), BAD, ("deactivated",)),
    (_("Owner deactivated"), BAD, ("owner_deactivated",)),
    (_("Expired"), WARN, ("expired",)),
    (_("Revoked"), BAD, ("revoked",)),
    (_("Current"), INFO, ("current",)),
    (_("Signed out"), PLAIN, ("signed_out",)),
    (_("Password changed"), PLAIN, ("password_changed",)),
    (_("Disabled"), WARN, ("disabled",)),
    # Files, contents, sources and what was found about them.
    (_("Live"), OK, ("live",)),
    (_("Reset"), WARN, ("reset",)),
    (_("Deleted"), WARN, ("deleted",)),
    (_("Backup"), WARN, ("bak",)),
    (_("Verified"), OK, ("verified",)),
    (_("Incomplete"), WARN, ("incomplete",)),
    (_("Found"), INFO, ("found",)),
    (_("Damaged"), BAD, ("damaged",)),
    (_("Missing"), BAD, ("missing", "gone")),
    (_("Intact"), OK, ("intact",)),
    (_("Unexpected"), WARN, ("unexpected",)),
    (_("New"), INFO, ("new",)),
    (_("Changed"), INFO, ("changed",)),
    (_("Unchanged"), PLAIN, ("unchanged",)),
    (_("Imported"), OK, ("imported",)),
    (_("Written"), OK, ("written",)),
    (_("Excluded"), PLAIN, ("ignored",)),
    (_("Kept"), PLAIN, ("kept",)),
    (_("Finding"), BAD, ("finding",)),
    (_("Warning"), WARN, ("warning",)),
    (_("Info"), PLAIN, ("info",)),
    (_("Not repaired"), BAD, ("not_repaired",)),
)
STATES = {value: State(word, tone) for word, tone, values in _WORDS for value in values}


def get_state(value: Any) -> State:
    """The word and tone of a state; an unknown value is its own word, without tone."""
    value = str(value or "")  # a member of an enumeration becomes its value
    return STATES.get(value) or STATES.get(value.lower()) or _build_unknown(value)


def word(value: Any) -> str | Promise:
    """The word of a state, for sentences, filters and charts."""
    return get_state(value).word


def choices(values: Iterable[Any]) -> list[tuple[str, str | Promise]]:
    """Values with their words, as the choices of a field."""
    return [(str(value), word(value)) for value in values]


@lru_cache(maxsize=500)
def _build_unknown(value):
    text = glyphs.to_one_line(value)
    return State(text if len(text) <= LONGEST_UNKNOWN else text[: LONGEST_UNKNOWN - 1] + "…", PLAIN)
