"""The one place that asks for the time, so that one fixture can set it."""

import time


def now_ms():
    """Milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000
