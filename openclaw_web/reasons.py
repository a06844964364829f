"""Describes errors of SQLite and of the system in words for people."""

import errno

from django.utils.translation import gettext as _

from .sqlite import failures


def describe_error(exc: BaseException) -> str:
    """Describe an error of SQLite or of a file as the end of a sentence.

    Other errors give their own message.
    """
    if failures.is_of_database(exc):
        return failures.translate_message(str(exc))
    if isinstance(exc, OSError):
        return describe_os_error(exc)
    return str(exc) or type(exc).__name__


def describe_os_error(exc: OSError) -> str:
    """Describe why a file was not opened or written: `there is no such file or folder`.

    Errors without words of ours get those of the system.
    """
    known = {
        errno.ENOENT: _("there is no such file or folder"),
        errno.EACCES: _("permission to open or write is missing"),
        errno.EPERM: _("permission is missing"),
        errno.EISDIR: _("the path is a folder"),
        errno.ENOTDIR: _("a part of the path is not a folder"),
        errno.ENOSPC: _("the disk is full"),
        errno.EDQUOT: _("the disk quota is used up"),
        errno.EROFS: _("the disk is read-only"),
        errno.EIO: _("the disk could not read or write the data"),
        errno.ELOOP: _("the path is a link"),
    }
    text = exc.strerror or type(exc).__name__
    return known.get(exc.errno or 0, text[:1].lower() + text[1:])
