"""Checks for free disk space, and reports a full disk as a sentence."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db.utils import OperationalError
from django.utils.translation import gettext as _

from ..errors import Refused
from ..pages.formatting import size
from . import reserve

FULL = reserve.FULL


class NoRoom(Refused):
    """The disk is full."""


def check(folder: Path, needed: int) -> None:
    """Raise NoRoom when the disk of `folder` has fewer than `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        words = {"folder": folder, "free": size(free), "wanted": size(needed)}
        raise NoRoom(_("Not enough space in %(folder)s: %(free)s free, about %(wanted)s needed.") % words)


@contextmanager
def refuse_when_full(folder: Path, nothing: str) -> Iterator[None]:
    """Turn the error of a full disk into NoRoom; `nothing` says what did not happen."""
    try:
        yield
    except OSError as exc:
        if exc.errno not in FULL:
            raise
        raise _build_refusal(folder, nothing) from exc
    except OperationalError as exc:
        if not reserve.is_full(exc, folder):
            raise
        raise _build_refusal(folder, nothing) from exc


def _build_refusal(folder, nothing):
    return NoRoom(_("No space left in %(folder)s. %(nothing)s") % {"folder": folder, "nothing": nothing})
