"""Moments as OpenClaw writes them, in Singapore, which has no summer time."""

from datetime import UTC, datetime, timedelta, timezone

SINGAPORE = timezone(timedelta(hours=8))
HOUR = 3_600_000
DAY = 24 * HOUR
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WEEKDAYS_ZH = ("周一", "周二", "周三", "周四", "周五", "周六", "周日")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def to_local(ms):
    """The local date and time of a moment, in the bakery."""
    return datetime.fromtimestamp(ms / 1000, SINGAPORE)


def format_iso(ms):
    """The moment as records have it: `2026-05-20T01:02:03.004Z`."""
    return f"{datetime.fromtimestamp(ms // 1000, UTC):%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def file_stamp(ms):
    """The moment in the name of a file that was reset or deleted."""
    return format_iso(ms).replace(":", "-")


def format_short(ms):
    """The moment as channel messages have it: `Wed 2026-05-20 09:02 GMT+8`."""
    moment = to_local(ms)
    return f"{DAYS[moment.weekday()]} {moment:%Y-%m-%d %H:%M} GMT+8"


def format_day(ms):
    """The local date, `2026-05-20`."""
    return f"{to_local(ms):%Y-%m-%d}"


def midnight(ms):
    """The moment at which the local day began."""
    return (ms + 8 * HOUR) // DAY * DAY - 8 * HOUR


def is_closed(ms):
    """Whether the bakery has its day off."""
    return to_local(ms).weekday() == 0


def next_baking_day(ms):
    """The next day on which the bakery is open: after Sunday comes Tuesday."""
    return ms + DAY + (DAY if is_closed(ms + DAY) else 0)


def format_long(ms):
    """The long form in prompts of scheduled jobs."""
    moment = to_local(ms)
    number = moment.day
    ending = "th" if 10 < number < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    clock = f"{moment.hour % 12 or 12}:{moment:%M} {'AM' if moment.hour < 12 else 'PM'}"
    date = f"{WEEKDAYS[moment.weekday()]}, {MONTHS[moment.month - 1]} {number}{ending}, {moment.year}"
    return f"{date} — {clock} (Asia/Singapore)"
