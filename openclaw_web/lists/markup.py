"""What rows of several lists are made of."""

from django.utils.safestring import SafeString

NOTHING = SafeString("")
BADGE = '<span class="badge badge--{tone}">{label}</span>'


def joined(rows):
    """Rows of HTML as one safe text."""
    return SafeString("".join(rows))
