"""Log lines without secrets: those in addresses and headers are blotted out."""

import logging
import re
from copy import copy

from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation

REFUSALS = (BadRequest, PermissionDenied, SuspiciousOperation)  # of requests: no bug of ours
SECRET = re.compile(r"(/welcome/|/join/|oc_[0-9a-f]{8}_)[\w%-]+")


class LineFormatter(logging.Formatter):
    """Writes one line per record, with one-time links and tokens shortened.

    A request that failed has the reference that its page shows.
    """

    def formatMessage(self, record):
        reference = getattr(getattr(record, "request", None), "reference", None)
        return super().formatMessage(record) + (f" (reference {reference})" if reference else "")

    def format(self, record):
        if record.exc_info and isinstance(record.exc_info[1], REFUSALS):
            record = copy(record)  # other handlers may show the traceback; here it would suggest a bug
            record.exc_info = record.exc_text = None
        return SECRET.sub(r"\1…", super().format(record))
