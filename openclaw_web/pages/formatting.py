"""One format each for times, durations, bytes, tokens and money. Formatting only: no queries."""

from datetime import UTC, datetime
from functools import lru_cache
from html import escape

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _


def at(ms):
    """The UTC datetime of milliseconds, or None for a time no calendar has."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def ago(ms):
    """`3 hours ago` in a <time> element with the exact moment on hover."""
    when = at(ms)
    if when is None:
        return "–"
    now = datetime.now(UTC)
    exact = str(when)[:19]
    if abs((now - when).total_seconds()) < 60:
        words = _words("now", 0, get_language())
    else:
        words = _words(*_since(when, now), get_language()) if when < now else exact[:-3]
    return SafeString(f'<time datetime="{exact[:10]}T{exact[11:]}+00:00" title="{exact} UTC">{words}</time>')


def due(ms):
    """`ago` of something to come: what has passed without it says `due 3 hours ago`."""
    when = at(ms)
    if when is None or when > datetime.now(UTC):
        return ago(ms)
    return format_html(_("due {}"), ago(ms))


def moment(ms):
    """`2026-02-21 11:13:07` in a <time> element."""
    when = at(ms)
    if when is None:
        return "–"
    exact = str(when)[:19]
    return SafeString(f'<time datetime="{exact[:10]}T{exact[11:]}+00:00" title="UTC">{exact}</time>')


def duration(ms):
    """Milliseconds as `340 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`, `7 d`."""
    if ms is None:
        return "–"
    if ms < 1000:
        return f"{ms} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return _both(minutes, "min", seconds, "s")
    hours, minutes = divmod(minutes, 60)
    return _both(hours, "h", minutes, "min") if hours < 48 else _both(hours // 24, "d", hours % 24, "h")


def _both(large, unit, small, part):
    return f"{large} {unit} {small} {part}" if small else f"{large} {unit}"


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
    """`189,000`."""
    return "–" if count is None else f"{count:,}"


def money(usd):
    """US dollars as `$0.0162`, `$4.20`, `$1,204`."""
    if not usd:
        return "$0"
    if usd < 0.01:
        return f"${usd:.4f}"
    return f"${usd:.2f}" if usd < 1000 else f"${usd:,.0f}"


def _since(moment, now):
    """The time between as Django's timesince says it in one unit: the unit and how many of it."""
    months = (now.year - moment.year) * 12 + now.month - moment.month
    months -= (moment.day, moment.time()) > (now.day, now.time())
    seconds = int((now - moment).total_seconds())
    if months:
        return ("year", months // 12) if months >= 12 else ("month", months)
    for unit, length in (("week", 604_800), ("day", 86_400), ("hour", 3600)):
        if seconds >= length:
            return unit, seconds // length
    return "minute", seconds // 60


@lru_cache(maxsize=1_000)
def _words(unit, count, language):
    """`3 hours ago`, escaped. Remembered by language: a list has a time in every row."""
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


FILTERS = {made.__name__: made for made in (ago, due, duration, moment, money, number, size, tokens)}  # of templates
