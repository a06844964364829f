"""The limit of tokens for each UTC day and agent: taken before a call is sent, and corrected once it has ended.

What is taken stands in the rows of calls (`reserved_tokens`): the most that a call may use, then what it used. A call
whose end nobody heard of keeps what was taken for it. Reserving is one IMMEDIATE transaction on the agent's file, so no
two processes take the same tokens.
"""

from django.db.models import Sum
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import writing
from people.configuration import keys as configuration

from ..models import GateCall
from ..recording import windows
from ..recording.windows import Window
from . import prompts
from .prompts import Prompt

SETTING = "memoryGate.tokensPerDay"


class LimitReached(Refused):
    """A call would take more tokens than the limit of this day leaves."""


def used(db: str) -> int:
    """Tokens that calls of this UTC day have used, or may still use."""
    start, end = clock.today_ms()
    today = GateCall.objects.using(db).filter(created_at__gte=start, created_at__lt=end)
    return today.aggregate(sum=Sum("reserved_tokens"))["sum"] or 0


def left(db: str) -> int | None:
    """Tokens that this UTC day leaves; None without a limit."""
    limit = configuration.get(SETTING)
    return max(0, limit - used(db)) if limit else None


def reserve(db: str, call: GateCall, prompt: Prompt, window: Window) -> None:
    """Store a call that is about to be sent, with what it is to say. Raises LimitReached, and nothing is stored."""
    with writing.in_turn_of(db):
        room = left(db)
        if room is not None and call.reserved_tokens > room:
            raise LimitReached(_sentence(room))
        prompts.keep(db, prompt)
        windows.keep(db, [window])
        call.save(using=db, force_insert=True)


def _sentence(room):
    words = _(
        "The limit of %(limit)s tokens a day is reached for this agent: the next call may use more than the %(room)s "
        "that are left. Run the gate again after midnight UTC, or raise memoryGate.tokensPerDay in the settings."
    )
    return words % {"limit": f"{configuration.get(SETTING):,}", "room": f"{room:,}"}
