"""One format each for times, durations, bytes, tokens and money. Formatting only: no queries."""

from datetime import UTC, datetime

from django import template
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

register = template.Library()


def at(ms):
    """The UTC datetime of milliseconds, or None for a time no calendar has."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


@register.filter
def ago(ms):
    """`3 hours ago` in a <time> element with the exact moment on hover."""
    moment = at(ms)
    if moment is None:
        return "–"
    now = datetime.now(UTC)
    exact = f"{moment:%Y-%m-%d %H:%M:%S}"
    if abs((now - moment).total_seconds()) < 60:
        words = _("just now")
    else:
        words = _("%(time)s ago") % {"time": _since(moment, now)} if moment < now else exact[:-3]
    return format_html('<time datetime="{}" title="{} UTC">{}</time>', moment.isoformat(), exact, words)


@register.filter
def moment(ms):
    """`2026-02-21 11:13:07` in a <time> element."""
    when = at(ms)
    if when is None:
        return "–"
    return format_html('<time datetime="{}" title="UTC">{}</time>', when.isoformat(), f"{when:%Y-%m-%d %H:%M:%S}")


@register.filter
def duration(ms):
    """Milliseconds as `340 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`."""
    if ms is None:
        return "–"
    if ms < 1000:
        return f"{ms} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


@register.filter
def size(count):
    """Bytes as `812 B`, `4.2 kB`, `318.0 MB`."""
    if count is None:
        return "–"
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


@register.filter
def tokens(count):
    """Tokens as `812`, `4.2k`, `1.3M`."""
    if count is None:
        return "–"
    if count < 1000:
        return str(count)
    if count < 1_000_000:
        return f"{count / 1000:.1f}k"
    return f"{count / 1_000_000:.1f}M" if count < 1_000_000_000 else f"{count / 1_000_000_000:.1f}G"


@register.filter
def number(count):
    """`189,000`."""
    return "–" if count is None else f"{count:,}"


@register.filter
def money(usd):
    """US dollars as `$0.0162`, `$4.20`, `$1,204`."""
    if not usd:
        return "$0"
    if usd < 0.01:
        return f"${usd:.4f}"
    return f"${usd:.2f}" if usd < 1000 else f"${usd:,.0f}"


def _since(moment, now):
    """As Django's timesince says it in one unit, ten times as fast: a list has a time in every row."""
    months = (now.year - moment.year) * 12 + now.month - moment.month
    months -= (moment.day, moment.time()) > (now.day, now.time())
    seconds = int((now - moment).total_seconds())
    if months >= 12:
        count, words = months // 12, ngettext("%(num)d year", "%(num)d years", months // 12)
    elif months:
        count, words = months, ngettext("%(num)d month", "%(num)d months", months)
    elif seconds >= 604_800:
        count = seconds // 604_800
        words = ngettext("%(num)d week", "%(num)d weeks", count)
    elif seconds >= 86_400:
        count = seconds // 86_400
        words = ngettext("%(num)d day", "%(num)d days", count)
    elif seconds >= 3600:
        count = seconds // 3600
        words = ngettext("%(num)d hour", "%(num)d hours", count)
    else:
        count = seconds // 60
        words = ngettext("%(num)d minute", "%(num)d minutes", count)
    return (words % {"num": count}).replace(" ", "\xa0")
