"""A session as one strip: where its turns, tool calls, errors and compactions are.

The numbers come from one pass over the small columns of its records (6 ms for 10,000) and are kept until the session
changes. Coordinates are attributes of the SVG: inline styles are not allowed.
"""

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

from django.db.models import Count, F, Max, Min, Q, Sum
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from openclaw_web.pages.formatting import listed

from ..models import Session, TranscriptEvent

PARTS = 80
MIN_RECORDS = 30  # records from which on a session has a map
TALLEST = 17
TOOLS = 100  # names
KEPT = 128  # sessions


@dataclass(frozen=True, slots=True)
class Part:
    """Some consecutive records: the first and last, and counts by kind."""

    number: int
    first: int
    last: int
    turns: int
    calls: int
    errors: int
    compactions: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The parts of a session in order, and the tools it used with how often.

    A part without records is left out.
    """

    width: int  # records in one part
    count: int  # parts
    parts: tuple[Part, ...]
    tools: tuple[tuple[str, int], ...]

    def total(self, name):
        """The sum of one count of `Part` over all parts."""
        return sum(getattr(part, name) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Strip:
    """The drawing of a strip.

    `page` is the position of the page (x and width), `marks` are kinds and paths of SVG, `parts` are x, query and
    words, `stop` is the x of the part that Tab stops at; `branch_query` is the end of their queries.
    """

    page: tuple[float, ...]
    marks: list[tuple[str, str]]
    parts: list[tuple[int, str, str]]
    stop: int
    branch_query: str


def read_outline(session: Session) -> Outline:
    """The outline of a session, read again only when the session has changed."""
    return _count_parts(session._state.db, session.id, session.cache_key())


def build_strip(session_outline: Outline, branch: str, first: int, last: int) -> Strip:
    """The strip of an outline, with the page from record `first` to `last`.

    `branch` is added to its links.
    """
    place = (
        (round(first / session_outline.width, 2), round(max((last - first + 1) / session_outline.width, 0.6), 2))
        if first >= 0
        else ()
    )
    branch_query = f"&branch={quote(branch, safe='')}" if branch else ""
    marks, parts = _build_marks(session_outline, get_language())
    page_places = (x for x, *_rest in parts if place and x + 1 > place[0])
    return Strip(place, marks, parts, next(page_places, parts[0][0] if parts else 0), branch_query)


@lru_cache(maxsize=KEPT)
def _build_marks(session_outline, _language):
    """The marks, one path for each kind, and the parts.

    They are the same for everybody until the session changes.
    """
    most = max((part.calls for part in session_outline.parts), default=0) or 1
    paths = {
        "compaction": [_draw_box(part, 0.35, 0, 0.3, 32) for part in session_outline.parts if part.compactions],
        "turn": [_draw_box(part, 0.1, 1, 0.8, 4) for part in session_outline.parts if part.turns],
        "tool": [
            _draw_box(part, 0.1, 23 - (height := max(round(part.calls / most * TALLEST, 1), 1.5)), 0.8, height)
            for part in session_outline.parts
            if part.calls
        ],
        "error": [_draw_box(part, 0.1, 26, 0.8, 5) for part in session_outline.parts if part.errors],
    }
    marks = [(kind, "".join(boxes)) for kind, boxes in paths.items() if boxes]
    return marks, [
        (part.number, f"after={part.first - 1}" if part.first else "", _describe_part(part))
        for part in session_outline.parts
    ]


def _draw_box(part, x, y, width, height):
    return f"M{round(part.number + x, 2)} {round(y, 1)}h{width}v{height}h-{width}z"


def _describe_part(part):
    """`Records 81 to 160: 20 turns, 19 tool calls, 1 error`."""
    counts = [
        ngettext("%(count)s turn", "%(count)s turns", part.turns) % {"count": part.turns} if part.turns else "",
        ngettext("%(count)s tool call", "%(count)s tool calls", part.calls) % {"count": part.calls}
        if part.calls
        else "",
        ngettext("%(count)s error", "%(count)s errors", part.errors) % {"count": part.errors} if part.errors else "",
        _("a compaction") if part.compactions else "",
    ]
    place = _("Records %(first)s to %(last)s") % {"first": f"{part.first + 1:,}", "last": f"{part.last + 1:,}"}
    words = listed(count for count in counts if count)
    return f"{place}: {words}" if words else place


@lru_cache(maxsize=KEPT)
def _count_parts(db, session_id, _cache_key):
    events = TranscriptEvent.objects.using(db).filter(session_id=session_id)
    end = (events.order_by("-seq").values_list("seq", flat=True).first() or 0) + 1
    width = max(-(-end // PARTS), 1)
    rows = (
        events.values(number=F("seq") / width)
        .annotate(
            first=Min("seq"),
            last=Max("seq"),
            turns=Count("seq", filter=Q(kind="user")),
            calls=Sum("tool_call_count"),
            errors=Count("seq", filter=Q(is_failed=True)),
            compactions=Count("seq", filter=Q(kind="compaction")),
        )
        .order_by("number")
    )
    used = events.filter(tool_name__isnull=False).values_list("tool_name").annotate(count=Count("seq"))
    tools = used.order_by("-count", "tool_name")[:TOOLS]
    return Outline(width, -(-end // width), tuple(Part(**row) for row in rows), tuple(tools))
