"""Maintenance of whole files: attaching, freeing pages, recreating triggers."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections, transaction

from . import connection_tuning, inspection, statements
from .dialect import ATTACHED

FREED_PAGES, FEW_PAGES = 2_000, 32  # freed in one step


@contextmanager
def attach_database(db: str, other: str) -> Iterator[None]:
    """Attach another file of ours as `dialect.ATTACHED` for the block."""
    place = connections[other].settings_dict["NAME"]
    connections[other].close()
    statements.run(db, f"ATTACH DATABASE %s AS {ATTACHED}", [place])
    try:
        yield
    finally:
        statements.run(db, f"DETACH DATABASE {ATTACHED}")


def give_back_free_pages(db: str, *, little_room: bool = False) -> None:
    """Give free pages back to the file system.

    With `little_room` it takes small steps, which need almost no space.
    """
    pages = FEW_PAGES if little_room else FREED_PAGES
    while before := _count_free_pages(db):
        statements.read_rows(db, f"PRAGMA incremental_vacuum({pages})")
        if little_room:
            connection_tuning.shorten_log(db)
        if _count_free_pages(db) >= before:
            return  # the file was created without incremental vacuum


@contextmanager
def overwrite_freed_bytes(db: str, *, little_room: bool = False) -> Iterator[None]:
    """Overwrite with zeros what the block removes from a file.

    Afterwards pages that were free before are given back, since they may hold copies, and the log is shortened. With
    `little_room` it takes small steps.
    """
    (was_on,) = statements.read_row(db, "PRAGMA secure_delete") or (0,)
    statements.read_row(db, "PRAGMA secure_delete = ON")
    try:
        yield
        give_back_free_pages(db, little_room=little_room)
    finally:
        statements.read_row(db, f"PRAGMA secure_delete = {int(was_on)}")
        if not connections[db].in_atomic_block:  # SQLite refuses to within a transaction
            connection_tuning.shorten_log(db)


def make_triggers() -> None:
    """Create every trigger of the global file again, as in its migration."""
    with transaction.atomic():
        for name, sql in inspection.build_triggers().items():
            statements.run("default", f"DROP TRIGGER IF EXISTS {name}")
            statements.run("default", sql)


def _count_free_pages(db):
    return statements.read_row(db, "PRAGMA freelist_count")[0]
