"""Log lines that can be shown to anybody: secrets in addresses and headers are blotted out."""

import logging
import re
from copy import copy

from django.core.exceptions import PermissionDenied

SECRET = re.compile(r"(/welcome/|/join/|oc_[0-9a-f]{8}_)[\w%-]+")


class LineFormatter(logging.Formatter):
    """One line a record; one-time links and tokens appear without what makes them work.

    A request that failed has the reference which its page shows.
    """

    def formatMessage(self, record):
        reference = getattr(getattr(record, "request", None), "reference", None)
        return super().formatMessage(record) + (f" (reference {reference})" if reference else "")

    def format(self, record):
        if record.exc_info and isinstance(record.exc_info[1], PermissionDenied):
            record = copy(record)  # others may show where it was raised; who may not is no fault of the program
            record.exc_info = record.exc_text = None
        return SECRET.sub(r"\1…", super().format(record))
