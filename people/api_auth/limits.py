"""Rate limits of the API, in memory that all web processes share (docs/decisions/0011).

Nothing is written to a database: a write for each request would be the slowest part of a read.
"""

import hashlib
import math
import mmap
import threading
import time
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from openclaw_web.endpoints.error_responses import build_error

MINUTE = 60
SLOTS = 4096
PROBES = 8
EXACT = 1e-6
WORDS = 2  # 8-byte words in a slot: the key, and the time when its bucket is full again


@dataclass(frozen=True, slots=True)
class Allowance:
    """The state of a bucket: requests a minute, remaining requests, and waits in seconds.

    `wait_seconds` is the time until one more request, `reset_seconds` that until the full number.
    """

    limit: int
    remaining: int
    wait_seconds: float
    reset_seconds: float

    @property
    def is_used_up(self):
        return self.wait_seconds > 0


class Buckets:
    """A bucket of requests for each key, refilled evenly; forks of this process share them.

    Each slot holds the time at which a bucket is full again (the generic cell rate algorithm), so that taking is one
    read and one write. Two processes in the same microsecond may take one request for two; no process waits for a lock
    of another. When more than SLOTS keys are active, the bucket that is nearest to full is dropped.
    """

    def __init__(self):
        memory = memoryview(mmap.mmap(-1, SLOTS * WORDS * 8))  # anonymous and shared: all forks see the writes
        self.keys, self.times = memory.cast("Q"), memory.cast("d")
        self.lock = threading.Lock()

    def take(self, key, per_minute):
        """Take a request from the bucket of `key`, unless it is empty.

        The bucket holds `per_minute` requests.
        """
        step, now = MINUTE / per_minute, time.monotonic()
        with self.lock:
            place = self._find_slot(key)
            before = max(self.times[place + 1], now)
            wait = before + step - now - MINUTE
            if wait > EXACT:
                return Allowance(per_minute, 0, wait, before - now)
            self.times[place + 1] = before + step
        remaining = int((now + MINUTE - before - step) / step + EXACT)
        return Allowance(per_minute, remaining, 0, before + step - now)

    def clear(self):
        """Fill all buckets."""
        with self.lock:
            for index in range(SLOTS * WORDS):
                self.keys[index] = 0

    def _find_slot(self, key):
        mark = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) or 1
        places = [(mark + probe) % SLOTS * WORDS for probe in range(PROBES)]
        for place in places:
            if self.keys[place] == mark:
                return place
        place = min(places, key=lambda place: self.times[place + 1] if self.keys[place] else 0.0)
        self.keys[place], self.times[place + 1] = mark, 0.0
        return place


buckets = Buckets()


def take_for_person(user):
    """Take one request of a person, with any token or browser.

    None when there is no limit.
    """
    per_minute = settings.API_PER_MINUTE
    return buckets.take(f"person {user.pk}", per_minute) if per_minute else None


def take_for_failed_token(request):
    """Take one wrong token of an address.

    None when the request has no token, or when there is no limit.
    """
    per_minute = settings.API_FAILURES_PER_MINUTE
    if not per_minute or "Authorization" not in request.headers:
        return None
    return buckets.take(f"failed {request.META.get('REMOTE_ADDR', '')}", per_minute)


def build_limit_refusal(allowance):
    """Build the 429 answer for an empty bucket."""
    seconds = math.ceil(allowance.wait_seconds)
    sentence = _("Too many requests: %(limit)s a minute are allowed. Try again in %(seconds)s s.")
    return build_error(429, sentence % {"limit": allowance.limit, "seconds": seconds}, headers={"Retry-After": seconds})


def set_headers(response, allowance):
    """Set the rate limit headers of an answer."""
    response["RateLimit-Limit"] = allowance.limit
    response["RateLimit-Remaining"] = allowance.remaining
    response["RateLimit-Reset"] = math.ceil(allowance.reset_seconds)
