"""Regular expressions from outside: matched in time that grows with the text only (RE2), whatever the expression."""

import re2
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

MAX_PATTERN = 500


def compiled(pattern: str, *, ignore_case: bool = False):
    """An expression that matches within a line. Raises Refused for one that RE2 does not know, and for a long one."""
    if not pattern or len(pattern) > MAX_PATTERN:
        raise Refused(_("A pattern has 1 to %(most)s characters.") % {"most": MAX_PATTERN})
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.case_sensitive = not ignore_case
    options.max_mem = 8 * 1024 * 1024
    try:
        re2.compile(pattern, options)  # alone, so that no bracket of it can close ours
        return re2.compile(f"(?m:{pattern})", options)
    except re2.error as exc:
        reason = exc.args[0].decode("utf-8", "replace") if exc.args and isinstance(exc.args[0], bytes) else str(exc)
        raise Refused(
            _("This pattern cannot be used: %(reason)s. Look-around and back-references do not exist here.")
            % {"reason": reason}
        ) from exc
    except UnicodeEncodeError as exc:
        raise Refused(_("This pattern holds half a character.")) from exc
