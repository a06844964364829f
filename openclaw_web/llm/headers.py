"""What the headers of an answer say."""

import math
import re
from email.utils import parsedate_to_datetime

from .. import clock

_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_JSON = re.compile(r"[\w!#$&^.+-]+/(?:[\w!#$&^.+-]+\+)?json", re.ASCII)


def is_json(content_type: str) -> bool:
    """Whether a content type is that of JSON; one that is missing may be."""
    name = content_type.partition(";")[0].strip().lower()
    return not name or bool(_JSON.fullmatch(name))


def retry_after(value: str) -> float | None:
    """How many seconds to wait, from `Retry-After`: a number or a date; None when it is neither."""
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        seconds = parsedate_to_datetime(text).timestamp() - clock.now_ms() / 1000
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
