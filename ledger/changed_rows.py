"""Tells the scan for personal data and the search of rows whose texts changed after they were stored."""

from collections.abc import Collection

from django.conf import settings
from django.utils.module_loading import import_string

from search import changes


def note(db: str, source: str, ids: Collection[str]) -> None:
    """Have these rows scanned and read again; in the transaction that changes them.

    `source` is a value of findings.models.Source, which this app must not import.
    """
    if ids:
        import_string(settings.CHANGED_ROWS)(db, source, ids)
        changes.note(db, source, ids)
