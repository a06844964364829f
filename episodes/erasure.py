"""Removes events or their texts for good, also on a disk without a free byte."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from openclaw_web.disk import reserve
from openclaw_web.sqlite import connection_tuning, upkeep

FEW_EVENTS = 50  # of one transaction on a disk that is nearly full: its pages and indexes are in the log once more


@contextmanager
def erase(db: str, most: int) -> Iterator[int]:
    """Overwrite with zeros what the block removes from a file.

    Yields how many events one transaction may change: `most`, or few on a disk that is nearly full. The home's reserve
    is used there, and the log of the file is kept short.
    """
    reserve.release(settings.HOME_DIR)
    is_short = reserve.is_short(settings.HOME_DIR)
    if is_short:
        connection_tuning.expect_little_room(db)
    try:
        with upkeep.overwrite_freed_bytes(db, little_room=is_short):
            yield min(most, FEW_EVENTS) if is_short else most
    finally:
        if is_short:
            connection_tuning.expect_few_writes(db)
