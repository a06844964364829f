"""Time zones: which there are, and the one that times on a page are shown in."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

# The names people know; those of files in lower case are for programs (posix, right, localtime).
NAME = re.compile(r"[A-Z][\w+-]{0,30}(?:/[A-Z][\w+-]{0,30}){0,2}", re.ASCII)

# Not Django's own, which takes as long to ask as a time takes to draw.
_here: ContextVar[tzinfo] = ContextVar("zone", default=UTC)
get_zone = _here.get


@contextmanager
def use_zone(zone: tzinfo) -> Iterator[None]:
    """Times of the block are those of this zone."""
    token = _here.set(zone)
    try:
        yield
    finally:
        _here.reset(token)


@lru_cache(maxsize=500)
def find_zone(name: str) -> tzinfo | None:
    """The zone called so, whoever says it; None when there is none."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name) if NAME.fullmatch(name) else None
    except (ZoneInfoNotFoundError, ValueError, OSError):  # ValueError: a file that is no zone; OSError: a folder
        return None


@cache
def list_zones() -> list[str]:
    """Every zone there is, by name. Takes a tenth of a second when it is first asked."""
    return sorted(name for name in available_timezones() | {"UTC"} if find_zone(name))


def find_zone_name(name: str) -> str:
    """A name as it is written, whatever its case; empty when no zone is called so."""
    wanted = name.strip().replace(" ", "_").casefold()
    return next((known for known in list_zones() if known.casefold() == wanted), "")


def find_day_start(moment_ms: int) -> int:
    """When the day of a moment began in the zone of the block."""
    local = datetime.fromtimestamp(moment_ms / 1000, get_zone())
    return round(local.replace(hour=0, minute=0, second=0, microsecond=0).timestamp() * 1000)


def describe_zone(moment_ms: int) -> str:
    """The zone of the block with its distance from UTC at a moment: `Asia/Kolkata (UTC+05:30)`."""
    zone = get_zone()
    name = getattr(zone, "key", "UTC")
    minutes = (datetime.fromtimestamp(moment_ms / 1000, zone).utcoffset() or timedelta()) // timedelta(minutes=1)
    if not minutes:
        return name if name == "UTC" else f"{name} (UTC)"
    hours, rest = divmod(abs(minutes), 60)
    return f"{name} (UTC{'-' if minutes < 0 else '+'}{hours:02}:{rest:02})"
