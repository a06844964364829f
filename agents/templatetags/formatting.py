"""One format each for times, durations, bytes, tokens and money. Formatting only: no queries."""

from datetime import UTC, datetime

from django import template
from django.utils.html import format_html
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

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
    words = (
        _("just now")
        if abs((now - moment).total_seconds()) < 60
        else (
            _("%(time)s ago") % {"time": timesince(moment, now, depth=1)}
            if moment < now
            else f"{moment:%Y-%m-%d %H:%M}"
        )
    )
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', moment.isoformat(), f"{moment:%Y-%m-%d %H:%M:%S} UTC", words
    )


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
