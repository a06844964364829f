"""Types of options for `type=` of an argument."""

from argparse import ArgumentTypeError

from django.utils.translation import gettext as _


def text(value: str) -> str:
    """Check that a value of an option can be stored and printed.

    Raises ArgumentTypeError for bytes that are not UTF-8.
    """
    try:
        value.encode()
    except UnicodeEncodeError as exc:  # Python carries such bytes through as halves of surrogate pairs
        raise ArgumentTypeError(_("The text is not valid UTF-8.")) from exc
    return value
