"""Contains a failing transcript or output store, so that the rest of the import continues."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DataError, IntegrityError
from django.utils.translation import gettext as _

from ledger.outputs.output_stash import UNWRITABLE
from ledger.transcripts import transcript_store

# Also failures of the store: a text that is too long for SQLite, or a row that conflicts with stored rows.
UNFORESEEN = (*transcript_store.UNFORESEEN, DataError, IntegrityError)

log = logging.getLogger(__name__)


@contextmanager
def contain_failures(report: Any, name: str, reason: str = "unreadable_file") -> Iterator[list[str]]:
    """Contain a failure of the block: add a note, and count a rejected `reason`.

    The yielded list then has the cause. Changes of the block are rolled back, and have to be tried again.
    """
    failed: list[str] = []
    try:
        yield failed
    except UNFORESEEN as exc:
        log.exception("%s was not read", name)
        failed.append(type(exc).__name__)
        report.rejected[reason] += 1
    except UNWRITABLE as exc:
        failed.append(exc.sentence.rstrip("."))
    if failed:
        report.notes.append(_("%(file)s was not read: %(reason)s.") % {"file": name, "reason": failed[0]})
