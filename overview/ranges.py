"""Ranges of the first page and of addresses.

The first page has the last 24 hours, 7 days or 35 days; an address may name days or hours.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from datetime import time as time_of_day

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.lists.filters import MINUTE
from openclaw_web.pages.formatting import day_in_words

from .span_sums import DAY_MS, HOUR_MS, hour_name

LABELS = {"24h": gettext_lazy("24 h"), "7d": gettext_lazy("7 days"), "35d": gettext_lazy("35 days")}
SIZES = {"24h": (HOUR_MS, 24), "7d": (DAY_MS, 7), "35d": (DAY_MS, 35)}
DEFAULT = "7d"


@dataclass(frozen=True, slots=True)
class Range:
    """A range of whole UTC days or hours.

    `first` and `last`, both included, are numbers of such units since 1970.
    """

    unit_ms: int
    first: int
    last: int

    def __str__(self):
        if not self.is_hours:
            return days_in_words(self.first_day, self.last_day)
        first, last = (f"{_to_datetime(moment):%H:%M}" for moment in (self.start_ms, self.end_ms))
        last = "24:00" if last == "00:00" else last  # of the last day
        if self.first_day == self.last_day:
            return f"{day_in_words(self.last_day)}, {first} – {last}"
        return f"{day_in_words(self.first_day, has_year=False)}, {first} – {day_in_words(self.last_day)}, {last}"

    @property
    def is_hours(self) -> bool:
        return self.unit_ms == HOUR_MS

    @property
    def start_ms(self) -> int:
        return self.first * self.unit_ms

    @property
    def end_ms(self) -> int:
        """The first millisecond after the range."""
        return (self.last + 1) * self.unit_ms

    @property
    def first_day(self) -> date:
        return _to_datetime(self.start_ms).date()

    @property
    def last_day(self) -> date:
        return _to_datetime(self.end_ms - 1).date()

    @property
    def count(self) -> int:
        """The number of its units."""
        return self.last - self.first + 1

    @property
    def spans(self) -> list[str]:
        """The names of its spans, in order of time."""
        return [self._format_span(number) for number in range(self.first, self.last + 1)]

    @property
    def first_span(self) -> str:
        return self._format_span(self.first)

    @property
    def last_span(self) -> str:
        return self._format_span(self.last)

    @property
    def query(self) -> str:
        """The range as the filters of a list in an address."""
        if not self.is_hours:
            return f"from={self.first_day}&to={self.last_day}"
        first, last = _to_datetime(self.start_ms), _to_datetime(self.end_ms - 1)
        return f"from={first:{MINUTE}}&to={last:{MINUTE}}"

    @property
    def before(self) -> "Range":
        """The range of the same length before this one."""
        return Range(self.unit_ms, self.first - self.count, self.first - 1)

    def parts(self) -> Iterator["Range"]:
        """Yield each of its spans as a range."""
        return (Range(self.unit_ms, number, number) for number in range(self.first, self.last + 1))

    def _format_span(self, number):
        return hour_name(number) if self.is_hours else _to_datetime(number * DAY_MS).date().isoformat()


def read_range_name(query: Mapping[str, str]) -> str:
    """Return the name of the range in an address; the default without a valid one."""
    name = query.get("range", "")
    return name if name in SIZES else DEFAULT


def find_range(name: str, last_ms: int | None) -> tuple[Range, bool]:
    """Return the range that ends now, and whether it was shifted.

    Where the range has no activity, the one that ends with the last activity is returned, and True.
    """
    unit, count = SIZES[name]
    last = clock.now_ms() // unit
    if last_ms is not None and last_ms // unit <= last - count:
        return Range(unit, last_ms // unit - count + 1, last_ms // unit), True
    return Range(unit, last - count + 1, last), False


def read_range(first: str, last: str) -> Range | None:
    """Read the days or hours of an address; None when it names none.

    Raises Refused for an invalid day.
    """
    if not first and not last:
        return None
    try:
        moments = sorted((_parse_moment(first or last, is_end=False), _parse_moment(last or first, is_end=True)))
    except (ValueError, OverflowError) as exc:
        raise Refused(_("Write days like 2026-02-21. Correct the address, or remove the days from it.")) from exc
    unit = HOUR_MS if "T" in first + last else DAY_MS
    start, end = (round(moment.timestamp() * 1000) // unit for moment in moments)
    return Range(unit, start, end)


def days_in_words(first: date, last: date) -> str:
    """Format two days: `15 Feb – 21 Feb 2026`."""
    if first == last:
        return day_in_words(last)
    return f"{day_in_words(first, has_year=first.year != last.year)} – {day_in_words(last)}"


def _parse_moment(text, *, is_end):
    if "T" in text:
        return datetime.strptime(text, MINUTE).replace(tzinfo=UTC)
    end = time_of_day(23, 59) if is_end else time_of_day()
    return datetime.combine(date.fromisoformat(text), end, UTC)


def _to_datetime(ms):
    return datetime.fromtimestamp(ms / 1000, UTC)
