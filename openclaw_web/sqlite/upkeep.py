"""What is done to whole files: one beside another, free pages given back, triggers made again."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections, transaction

from . import connection_tuning, inspection, statements
from .dialect import ATTACHED

FREED_PAGES, FEW_PAGES = 2_000, 32  # in one go


@contextmanager
def attach_database(db: str, other: str) -> Iterator[None]:
    """Have the tables of another file of ours at hand as `words.BESIDE` while the block runs."""
    place = connections[other].settings_dict["NAME"]
    connections[other].close()
    statements.run(db, f"ATTACH DATABASE %s AS {ATTACHED}", [place])
    try:
        yield
    finally:
        statements.run(db, f"DETACH DATABASE {ATTACHED}")


def give_back_free_pages(db: str, *, little_room: bool = False) -> None:
    """Give free pages back to the file system; with `little_room` in steps that take next to none."""
    pages = FEW_PAGES if little_room else FREED_PAGES
    while before := _free_pages(db):
        statements.read_rows(db, f"PRAGMA incremental_vacuum({pages})")
        if little_room:
            connection_tuning.shorten_log(db)
        if _free_pages(db) >= before:
            return  # a file that was made without it


def make_triggers() -> None:
    """Make every trigger of the global file what its migration makes it."""
    with transaction.atomic():
        for name, sql in inspection.build_triggers().items():
            statements.run("default", f"DROP TRIGGER IF EXISTS {name}")
            statements.run("default", sql)


def _free_pages(db):
    return statements.read_row(db, "PRAGMA freelist_count")[0]
