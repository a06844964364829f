"""Formats times, durations, bytes, tokens and money. No queries."""

import hashlib
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from html import escape
from math import floor, log10
from time import time as now

from django.db import models
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, ngettext, pgettext
from django.utils.translation import gettext as _

from ..sqlite.fields import Label, get_labelled_fields
from . import glyphs, zones

SHORTEST_MONTH = 28 * 86_400
TINY = 1e-12  # dollars
EPOCH = date(1970, 1, 1).toordinal()
SIXTY = [f"{number:02}" for number in range(60)]


def to_datetime(ms):
    """The UTC datetime of milliseconds, or None for a time outside the calendar."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def to_local_datetime(ms):
    """The datetime of milliseconds in the zone of the page."""
    when = to_datetime(ms)
    try:
        return when and when.astimezone(zones.get_zone())
    except OverflowError:  # the first or last day of the calendar
        return when


def ago(ms):
    """`3 hours ago` in a <time> element, with the exact time on hover.

    The exact time is in the zone of the page and in UTC.
    """
    when = to_datetime(ms)
    if when is None:
        return "–"
    exact, day, time = _format_exact(int(ms // 1000), zones.get_zone())
    seconds = now() - ms / 1000
    if -60 < seconds < 60:
        words = _format_ago("now", 0, get_language())
    else:
        words = _format_ago(*_count_units(when, seconds), get_language()) if seconds > 0 else exact[:-3]
    title = f"{exact} UTC" if zones.get_zone() is UTC else f"{exact} ({day} {time} UTC)"
    return SafeString(f'<time datetime="{day}T{time}+00:00" title="{title}">{words}</time>')


def due(ms):
    """`ago` for a planned time; one that has passed reads `due 3 hours ago`."""
    when = to_datetime(ms)
    if when is None or when > datetime.now(UTC):
        return ago(ms)
    return format_html(_("due {}"), ago(ms))


def moment(ms):
    """`2026-02-21 11:13:07` in a <time> element, in the zone of the page.

    The title on hover is the time in UTC.
    """
    return _format_moment(ms, 0)


def clock(ms):
    """`11:13:07`, the time of day, in the same element."""
    return _format_moment(ms, 11)


def day_in_words(day, *, has_year=True):
    """A date in words: `21 Feb 2026`, `2026年2月21日`."""
    return _format_day(day, has_year, get_language())


def days_in_words(first, last):
    """Several days in words: `15 Feb – 21 Feb 2026`."""
    return f"{day_in_words(first, has_year=False)} – {day_in_words(last)}"


@lru_cache(maxsize=2_000)
def _format_day(day, has_year, _language):
    """The cached form of `day_in_words`; a chart has many days."""
    # Translators: how a date is written, in Django's letters: j day, M month, n its number, Y year: "Y年n月j日".
    form = _("j M Y") if has_year else _("j M")
    return date_format(day, form)


def _format_moment(ms, start):
    when = to_datetime(ms)
    if when is None:
        return "–"
    exact, day, time = _format_exact(int(ms // 1000), zones.get_zone())
    return SafeString(f'<time datetime="{day}T{time}+00:00" title="{day} {time} UTC">{exact[start:]}</time>')


def _format_exact(seconds, zone):
    """A time in a zone, and its day and time in UTC.

    It is quicker than Python's own formatting.
    """
    day, time = _format_date(seconds // 86_400), _format_time(seconds % 86_400)
    if zone is UTC:
        return f"{day} {time}", day, time
    offset = _find_hour_offset(seconds // 3600, zone)
    local = seconds + (_find_offset(seconds, zone) if offset is None else offset)
    try:
        return f"{_format_date(local // 86_400)} {_format_time(local % 86_400)}", day, time
    except ValueError:  # the first or last day of the calendar
        return f"{day} {time}", day, time


@lru_cache(maxsize=4_000)
def _find_hour_offset(hour, zone):
    """The offset of a zone from UTC during an hour, in seconds.

    None when the offset changes within the hour.
    """
    first, last = _find_offset(hour * 3600, zone), _find_offset(hour * 3600 + 3599, zone)
    return first if first == last else None


def _find_offset(seconds, zone):
    try:
        return datetime.fromtimestamp(seconds, zone).utcoffset() // timedelta(seconds=1)
    except (OverflowError, ValueError):
        return 0


@lru_cache(maxsize=4_000)
def _format_date(number):
    return date.fromordinal(EPOCH + number).isoformat()


def _format_time(seconds):
    return f"{_format_minute(seconds // 60)}:{SIXTY[seconds % 60]}"


@lru_cache(maxsize=1_440)
def _format_minute(number):
    return f"{SIXTY[number // 60]}:{SIXTY[number % 60]}"


def duration(ms):
    """Milliseconds as `340 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`, `7 d`.

    The units are those of the language.
    """
    if ms is None:
        return "–"
    units = _list_units(get_language())
    if ms < 1000:
        return units["ms"].format(ms)
    seconds = ms / 1000
    if seconds < 60:
        return units["s"].format(f"{seconds:.1f}")
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return _join_units(units, minutes, "min", seconds, "s")
    hours, minutes = divmod(minutes, 60)
    return (
        _join_units(units, hours, "h", minutes, "min")
        if hours < 48
        else _join_units(units, hours // 24, "d", hours % 24, "h")
    )


@lru_cache(maxsize=8)
def _list_units(_language):
    """The units of durations, cached by language; a list has a duration in every row."""
    return {
        "ms": pgettext("duration", "{} ms"),
        "s": pgettext("duration", "{} s"),
        "min": pgettext("duration", "{} min"),
        "h": pgettext("duration", "{} h"),
        "d": pgettext("duration", "{} d"),
    }


def _join_units(units, large, unit, small, part):
    return " ".join(units[name].format(count) for count, name in ((large, unit), (small, part)) if count)


def size(count):
    """Bytes as `812 B`, `4.2 kB`, `318.0 MB`."""
    if count is None:
        return "–"
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def tokens(count):
    """Tokens as `812`, `4.2k`, `1.3M`."""
    if count is None:
        return "–"
    if count < 1000:
        return str(count)
    if count < 1_000_000:
        return f"{count / 1000:.1f}k"
    return f"{count / 1_000_000:.1f}M" if count < 1_000_000_000 else f"{count / 1_000_000_000:.1f}G"


def number(count):
    """A number with separators: `189,000`."""
    return "–" if count is None else f"{count:,}"


def money(usd):
    """US dollars as `$0.0162`, `$4.20`, `$1,204`; `unknown` for None.

    A tiny amount has its first two digits.
    """
    if usd is None:
        return _("unknown")
    if not usd:
        return "$0"
    if usd < 0.01:
        return f"${usd:.{min(12, max(4, 1 - floor(log10(usd))))}f}" if usd > TINY else f"<${TINY:.12f}"
    return f"${usd:.2f}" if usd < 1000 else f"${usd:,.0f}"


def cost(usd, unpriced=0):
    """The cost of calls; `unpriced` is the number of their tokens without a price.

    `–` when there were no calls at all.
    """
    return "–" if usd is None and not unpriced else money(usd or None if unpriced else usd)


def cents(usd, unpriced=0):
    """The cost to the cent, for a column of a list: `<$0.01`, `$4.20`.

    `≥$4.20` when some tokens have no price.
    """
    if not usd:
        return cost(usd, unpriced)
    if usd < 0.005:
        return f"≥{money(usd)}" if unpriced else "<$0.01"
    return f"{'≥' if unpriced else ''}{money(round(usd, 2))}"


def without_price(unpriced):
    """`5.3k tokens without a price`; empty when all have one."""
    words = ngettext("%(count)s token without a price", "%(count)s tokens without a price", unpriced or 0)
    return words % {"count": tokens(unpriced)} if unpriced else ""


def _count_units(moment, seconds):
    """The time since a moment as (unit, count), in Django's largest unit."""
    if seconds >= SHORTEST_MONTH:
        today = moment + timedelta(seconds=seconds)
        months = (today.year - moment.year) * 12 + today.month - moment.month
        months -= (moment.day, moment.time()) > (today.day, today.time())
        if months:
            return ("year", months // 12) if months >= 12 else ("month", months)
    for unit, length in (("week", 604_800), ("day", 86_400), ("hour", 3600)):
        if seconds >= length:
            return unit, int(seconds // length)
    return "minute", int(seconds // 60)


@lru_cache(maxsize=1_000)
def _format_ago(unit, count, language):
    """`3 hours ago`, escaped and cached by language; a list has a time in every row."""
    units = {
        "year": ngettext("%(num)d year", "%(num)d years", count),
        "month": ngettext("%(num)d month", "%(num)d months", count),
        "week": ngettext("%(num)d week", "%(num)d weeks", count),
        "day": ngettext("%(num)d day", "%(num)d days", count),
        "hour": ngettext("%(num)d hour", "%(num)d hours", count),
        "minute": ngettext("%(num)d minute", "%(num)d minutes", count),
    }
    if unit == "now":
        return escape(_("just now"))
    time = (units[unit] % {"num": count}).replace(" ", "\xa0")
    return escape(_("%(time)s ago") % {"time": time})


def listed(things: Iterable[object]) -> str:
    """Join things with the separator of the language: `a, b, c`."""
    return pgettext("between things of a list", ", ").join(map(str, things))


def anchor(name: str) -> str:
    """A short, stable id for a place on a page that is named after a text."""
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:16]


def who(name: str | None) -> str:
    """The name of an actor; those of this site's own parts are translated, and `–` stands for nobody."""
    command_line, upgrade = _("command line"), _("upgrade")
    parts = {"command line": command_line, "schedule": _("schedule"), "plugin": _("plugin"), "upgrade": upgrade}
    return parts.get(name or "", name or "–")


# By the end of a column's name: the format on a page, and the one in a terminal.
UNITS = {"ms": (duration, "{:,} ms"), "tokens": (tokens, "{:,}"), "usd": (cost, "${:.6f}")}
NO_UNIT = number, "{:,}"


def facts(row: models.Model) -> list[tuple[Label, str]]:
    """The labelled columns of a row, each with its value as a page shows it."""
    return [(label, _format_value(name, value)) for label, name, value in _iterate_labelled(row)]


def exact_facts(row: models.Model) -> dict[str, str]:
    """The same columns for a terminal: exact values, without unknown ones."""
    known = [
        (str(label).lower(), name, value) for label, name, value in _iterate_labelled(row) if value not in (None, "")
    ]
    return {
        label: value if isinstance(value, str) else _find_unit(name)[1].format(value) for label, name, value in known
    }


def _iterate_labelled(row):
    for field in get_labelled_fields(type(row)):
        yield field.label, field.attname, getattr(row, field.attname)


def _format_value(name, value):
    return glyphs.to_one_line(value or "–") if value is None or isinstance(value, str) else _find_unit(name)[0](value)


def _find_unit(name):
    return UNITS.get(name.rsplit("_", 1)[-1], NO_UNIT)


SHOWN = (
    *(ago, anchor, cents, clock, cost, day_in_words, due, duration, listed, moment, money, number, size, tokens, who),
    *(facts, without_price),
)
FILTERS = {function.__name__: function for function in SHOWN}
