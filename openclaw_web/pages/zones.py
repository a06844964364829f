"""Time zones: their names, and the zone in which a page shows times."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

# The names that people know; names in lower case are for programs (posix, right, localtime).
NAME = re.compile(r"[A-Z][\w+-]{0,30}(?:/[A-Z][\w+-]{0,30}){0,2}", re.ASCII)

# Not Django's own, because reading it takes as long as formatting a time.
_current_zone: ContextVar[tzinfo] = ContextVar("zone", default=UTC)
get_zone = _current_zone.get


@contextmanager
def use_zone(zone: tzinfo) -> Iterator[None]:
    """Show times of the block in this zone."""
    token = _current_zone.set(zone)
    try:
        yield
    finally:
        _current_zone.reset(token)


@lru_cache(maxsize=500)
def find_zone(name: str) -> tzinfo | None:
    """Find a zone by its name; None when there is none."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name) if NAME.fullmatch(name) else None
    except (ZoneInfoNotFoundError, ValueError, OSError):  # ValueError: a file that is no zone; OSError: a folder
        return None


@cache
def list_zones() -> list[str]:
    """List every zone by its name. The first call takes a tenth of a second."""
    return sorted(name for name in available_timezones() | {"UTC"} if find_zone(name))


def find_zone_name(name: str) -> str:
    """Find the spelling of a zone's name in any case; empty when there is none."""
    folded = name.strip().replace(" ", "_").casefold()
    return next((known for known in list_zones() if known.casefold() == folded), "")


def find_day_start(moment_ms: int) -> int:
    """The start of a moment's day in the zone of the block, in milliseconds."""
    local = datetime.fromtimestamp(moment_ms / 1000, get_zone())
    return round(local.replace(hour=0, minute=0, second=0, microsecond=0).timestamp() * 1000)


def describe_zone(moment_ms: int) -> str:
    """The zone of the block with its offset at a moment: `Asia/Kolkata (UTC+05:30)`."""
    zone = get_zone()
    name = getattr(zone, "key", "UTC")
    minutes = (datetime.fromtimestamp(moment_ms / 1000, zone).utcoffset() or timedelta()) // timedelta(minutes=1)
    if not minutes:
        return name if name == "UTC" else f"{name} (UTC)"
    hours, rest = divmod(abs(minutes), 60)
    return f"{name} (UTC{'-' if minutes < 0 else '+'}{hours:02}:{rest:02})"
