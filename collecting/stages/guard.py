"""A transcript that cannot be stored as it is, or a store that takes nothing more, stops that one thing only."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DataError, IntegrityError
from django.utils.translation import gettext as _

from ledger.outputs.output_stash import UNWRITABLE
from ledger.transcripts import transcript_store

# And what the store refuses: a text longer than SQLite takes, a row that does not go with those it has.
UNFORESEEN = (*transcript_store.UNFORESEEN, DataError, IntegrityError)

log = logging.getLogger(__name__)


@contextmanager
def contain_failures(report: Any, name: str, reason: str = "unreadable_file") -> Iterator[list[str]]:
    """Let the rest go on when the block fails: a note, and a rejected `reason`.

    The list that is handed out then has the cause. What the block had stored is rolled back, and has to be tried again.
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
