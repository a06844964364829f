"""Describes in words when a scheduled job runs. Pure.

A schedule that has no words is shown as it is written.

OpenClaw's kinds: `{"kind": "cron", "expr", "tz"}`, `{"kind": "every", "everyMs"}`, `{"kind": "at", "at"}`.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from openclaw_web.amounts import format_plural
from openclaw_web.pages.formatting import listed

SHORTHANDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
DAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
TIMES_SAID = 6  # of one day; more of them are no longer words
LONGEST = 200  # characters of what is shown as it is written
UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"))
WEEKDAYS, WEEKEND = [1, 2, 3, 4, 5], [0, 6]
# Values of a definition besides its schedule.
VALUES = {
    "target": {"main": gettext_lazy("Main session"), "isolated": gettext_lazy("A session of its own")},
    "wake": {"now": gettext_lazy("At once"), "next-heartbeat": gettext_lazy("With the next heartbeat")},
    "delivery": {
        "announce": gettext_lazy("Announced in a chat"),
        "webhook": gettext_lazy("Sent to a webhook"),
        "none": gettext_lazy("Not delivered"),
    },
}


def format_value(name: str, written: str) -> str:
    """Return the words of a value: `format_value("target", "isolated")`.

    Other values are returned as they are written.
    """
    return str(VALUES[name].get(written, written))


def in_words(schedule: Any) -> str:
    """Describe a schedule: `Every 15 minutes`, `On weekdays at 09:30 (Asia/Shanghai)`.

    A single run is `Once, on 2027-01-01 at 01:00 UTC`.
    """
    if not isinstance(schedule, dict):
        return format_as_written(schedule)
    kind = schedule.get("kind")
    say = (
        {"cron": _describe_cron, "every": _describe_interval, "at": _describe_moment}.get(kind)
        if isinstance(kind, str)
        else None
    )
    return (say and say(schedule)) or format_as_written(schedule)


def format_as_written(schedule: Any) -> str:
    """Return a schedule as it is written, cut when it is long.

    It is the expression, or else the JSON.
    """
    if not schedule or not isinstance(schedule, dict):
        text = "–"
    elif isinstance(schedule.get("expr"), str):
        text = schedule["expr"].strip() or "–"
    else:
        text = orjson.dumps(schedule).decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def cron_in_words(expression: str) -> str | None:
    """Describe a cron expression; None when it says more than these words can.

    It has five fields, or six with seconds of 0.
    """
    expression = SHORTHANDS.get(expression.strip().lower(), expression)
    fields = expression.upper().split()
    if len(fields) == 6 and fields[0] == "0":
        fields = fields[1:]
    if len(fields) != 5 or len(expression) > LONGEST:
        return None
    minute, hour, day, month, weekday = fields
    times = _describe_times(minute, hour)
    days = _describe_days(day, weekday)
    months = _describe_months(month)
    if times is None or days is None or months is None:
        return None
    often, moments = times
    parts = [days or _("every day"), moments, months] if moments else [often, days, months]
    text = " ".join(part for part in parts if part)
    return text[0].upper() + text[1:]


def _describe_cron(schedule):
    expression = schedule.get("expr")
    words = cron_in_words(expression) if isinstance(expression, str) else None
    if words is None:
        return None
    zone = schedule.get("tz")
    zone = zone if isinstance(zone, str) and zone.strip() else _("local time")
    return _("%(words)s (%(zone)s)") % {"words": words, "zone": zone[:60]}


def _describe_interval(schedule):
    amount = schedule.get("everyMs")
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not 1 <= amount < 10**14:
        return None
    for size, unit in UNITS:
        if amount % size == 0:
            return _format_interval(int(amount // size), unit)
    return _("Every %(time)s") % {"time": f"{amount / 1000:,.3f}".rstrip("0").rstrip(".") + " s"}


def _format_interval(count, unit):
    words = {
        "day": ngettext("Every day", "Every %(count)s days", count),
        "hour": ngettext("Every hour", "Every %(count)s hours", count),
        "minute": ngettext("Every minute", "Every %(count)s minutes", count),
        "second": ngettext("Every second", "Every %(count)s seconds", count),
    }
    return words[unit] % {"count": f"{count:,}"}


def _describe_moment(schedule):
    value = schedule.get("at", schedule.get("atMs"))
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
        else:
            moment = datetime.fromtimestamp(value / 1000, UTC)
        # A time without a zone is UTC for OpenClaw.
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return _("Once, on %(date)s at %(time)s UTC") % {"date": f"{moment:%Y-%m-%d}", "time": f"{moment:%H:%M}"}


def _describe_times(minute: str, hour: str) -> tuple[str, str] | None:
    """Return the times of a day: (how often, "") or ("", at which moments)."""
    minutes, hours = _parse_field(minute, 0, 59), _parse_field(hour, 0, 23)
    if minutes is None or hours is None:
        return None
    if len(minutes) * len(hours) <= TIMES_SAID and hour != "*":
        return "", _("at %(times)s") % {"times": _join_words(f"{h:02}:{m:02}" for h in hours for m in minutes)}
    return _describe_frequency(minute, minutes, hour, hours), ""


def _describe_frequency(minute, minutes, hour, hours):
    often = _often_minutes(1) if len(hours) == 1 and minutes == _range(minutes) else _describe_minutes(minute, minutes)
    if hour == "*":
        return often
    step = _parse_step(hour, 24)
    if step and len(minutes) == 1:
        words = _often_hours(step)
        return words if minutes == [0] else _("%(often)s at minute %(minute)s") % {"often": words, "minute": minutes[0]}
    if len(minutes) == 1 and hours != _range(hours):
        return _("at minute %(minute)s of hours %(hours)s") % {"minute": minutes[0], "hours": _join_words(hours)}
    if hours == _range(hours):
        span = {"first": f"{hours[0]:02}:{minutes[0]:02}", "last": f"{hours[-1]:02}:{minutes[-1]:02}"}
        return _("%(often)s from %(first)s to %(last)s") % {"often": often, **span}
    return _("%(often)s during hours %(hours)s") % {"often": often, "hours": _join_words(hours)}


def _often_minutes(count):
    return format_plural("every minute", "every %(count)s minutes", count)


def _often_hours(count):
    return format_plural("every hour", "every %(count)s hours", count)


def _range(numbers):
    """Return all numbers from the first to the last of `numbers`."""
    return list(range(numbers[0], numbers[-1] + 1))


def _describe_minutes(minute, minutes):
    step = _parse_step(minute, 60)
    if step:
        return _often_minutes(step)
    if minutes == [0]:
        return _often_hours(1)
    if len(minutes) == 1:
        return _("every hour at minute %(minute)s") % {"minute": minutes[0]}
    return _("every hour at minutes %(minutes)s") % {"minutes": _join_words(minutes)}


def _describe_days(day: str, weekday: str) -> str | None:
    """Describe the days; empty for all of them."""
    by_month, by_week = _describe_month_days(day), _describe_weekdays(weekday)
    if by_month is None or by_week is None:
        return None
    if by_month and by_week:  # cron runs on days that fit either
        return _("%(days)s or %(others)s") % {"days": by_month, "others": by_week}
    return by_month or by_week


def _describe_month_days(field):
    if field in ("*", "?"):
        return ""
    if field == "L":
        return _("on the last day of the month")
    days = _parse_field(field, 1, 31)
    if days is None:
        return None
    if days == list(range(1, 32)):
        return ""
    step = re.fullmatch(r"\*/(\d+)", field)
    if step:
        return _("every %(count)s days from the first of the month") % {"count": step[1]}
    words = ngettext("on day %(days)s of the month", "on days %(days)s of the month", len(days))
    return words % {"days": _format_spans(days, str)}


def _describe_weekdays(field):
    if field in ("*", "?"):
        return ""
    nth = re.fullmatch(r"(\w+)#([1-5])", field)
    last = re.fullmatch(r"(\w+)L", field)
    if nth or last:
        days = _parse_field((nth or last)[1], 0, 7, DAY_NAMES)
        if days is None or len(days) != 1:
            return None
        ranks = (_("first"), _("second"), _("third"), _("fourth"), _("fifth"))
        rank = _("last") if last else ranks[int(nth[2]) - 1]
        return _("on the %(rank)s %(day)s of the month") % {"rank": rank, "day": _day_name(days[0] % 7)}
    days = _parse_field(field, 0, 7, DAY_NAMES)
    if days is None:
        return None
    days = sorted({day % 7 for day in days})
    if len(days) == 7:
        return ""
    if len(days) == 6:
        missing = next(day for day in range(7) if day not in days)
        return _("every day except %(day)s") % {"day": _day_name(missing)}
    if days == WEEKDAYS:
        return _("on weekdays")
    if days == WEEKEND:
        return _("on weekends")
    monday_first = sorted(days, key=lambda day: day or 7)
    return _("on %(days)s") % {
        "days": _format_spans([day or 7 for day in monday_first], lambda day: _day_name(day % 7))
    }


def _describe_months(field):
    if field == "*":
        return ""
    months = _parse_field(field, 1, 12, MONTH_NAMES, first_name=1)
    if months is None:
        return None
    return "" if len(months) == 12 else _("in %(months)s") % {"months": _format_spans(months, _month_name)}


def _parse_field(
    field: str, low: int, high: int, names: Sequence[str] = (), *, first_name: int = 0
) -> list[int] | None:
    """Return the numbers of a cron field, in order; None when it is not plain cron."""
    numbers: set[int] = set()
    for part in field.split(","):
        match = re.fullmatch(r"(\*|\w+)(?:-(\w+))?(?:/(\d{1,4}))?", part)
        if not match:
            return None
        start, end, step = match[1], match[2], int(match[3] or 1)
        first = low if start == "*" else _parse_number(start, names, first_name)
        last = _parse_number(end, names, first_name) if end else (high if start == "*" or match[3] else first)
        if first is None or last is None or not step or not low <= first <= last <= high:
            return None
        numbers.update(range(first, last + 1, step))
    return sorted(numbers)


def _parse_number(text, names, first_name):
    if text in names:
        return names.index(text) + first_name
    return int(text) if re.fullmatch(r"[0-9]{1,4}", text) else None


def _parse_step(field, size):
    """Return the n of `*`, `*/n`, `0/n` when it divides the whole evenly, else None."""
    match = re.fullmatch(r"(?:\*|0|0-(\d+))(?:/(\d{1,4}))?", field)
    if not match or (field == "0") or (match[1] and int(match[1]) != size - 1):
        return None
    step = int(match[2] or 1)
    return step if step and step < size and size % step == 0 else None


def _format_spans(numbers: Sequence[int], name: Callable[[int], str]) -> str:
    """Format numbers in words, three and more in a row as `Monday to Thursday`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] + 1 == number:
            runs[-1].append(number)
        else:
            runs.append([number])
    words: list[str] = []
    for run in runs:
        if len(run) >= 3:
            words.append(_("%(first)s to %(last)s") % {"first": name(run[0]), "last": name(run[-1])})
        else:
            words += map(name, run)
    return _join_words(words)


def _join_words(items):
    """Join items: `a`, `a and b`, `a, b and c`."""
    *most, last = map(str, items)
    return _("%(most)s and %(last)s") % {"most": listed(most), "last": last} if most else last


def _day_name(day):
    names = (_("Sunday"), _("Monday"), _("Tuesday"), _("Wednesday"), _("Thursday"), _("Friday"), _("Saturday"))
    return names[day]


def _month_name(month):
    names = (_("January"), _("February"), _("March"), _("April"), pgettext("month", "May"), _("June"), _("July"))
    return (*names, _("August"), _("September"), _("October"), _("November"), _("December"))[month - 1]
