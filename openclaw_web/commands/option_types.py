"""Types of options for `type=` of an argument."""

from argparse import ArgumentTypeError
from collections.abc import Callable

from django.utils.translation import gettext as _


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """Build the type of a number between two others, which are possible too."""

    def number(value: str) -> int:
        try:
            result = int(value)
        except ValueError:
            result = least - 1
        if not least <= result <= most:
            words = {"least": f"{least:,}", "most": f"{most:,}", "value": value}
            raise ArgumentTypeError(_("A whole number from %(least)s to %(most)s is needed, not %(value)s.") % words)
        return result

    return number


port = whole_number(0, 65535)


def host(value: str) -> str:
    """Check that a value could be the name or the address of a machine.

    An IPv6 address may have brackets, as in links.
    """
    if value.startswith("[") and value.endswith("]"):
        value = value[1:-1]
    try:
        is_possible = bool(value.encode("idna"))
    except UnicodeError:  # too long, or an empty part
        is_possible = False
    if not is_possible:
        raise ArgumentTypeError(_("%(value)s cannot be the name or the address of a machine.") % {"value": repr(value)})
    return value
