"""How often somebody may ask the API: counted in memory that all web processes share (docs/decisions/0011).

Nothing is written to a database: a limit that costs a write for each request would be the slowest part of a read.
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
WORDS = 2  # of 8 bytes in a slot: who, and until when their bucket is used up


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left to somebody: requests a minute, how many now, and seconds until one more, and until all of them."""

    limit: int
    remaining: int
    wait_seconds: float
    reset_seconds: float

    @property
    def is_used_up(self):
        return self.wait_seconds > 0


class Buckets:
    """A bucket of requests for each key, refilled evenly; forks of this process share them.

    Each slot holds the moment at which a bucket is full again (the generic cell rate algorithm), so that taking is one
    read and one write. Two processes in the same microsecond may take one for two; nobody waits for a lock of another
    process. When more than SLOTS keys are at work, the one that is nearest to full is forgotten.
    """

    def __init__(self):
        memory = memoryview(mmap.mmap(-1, SLOTS * WORDS * 8))  # anonymous and shared: what a fork writes, all see
        self.keys, self.times = memory.cast("Q"), memory.cast("d")
        self.lock = threading.Lock()

    def take(self, key, per_minute):
        """Take one request out of the bucket of `key`, which holds `per_minute`, unless it is empty."""
        step, now = MINUTE / per_minute, time.monotonic()
        with self.lock:
            place = self._place(key)
            before = max(self.times[place + 1], now)
            wait = before + step - now - MINUTE
            if wait > EXACT:
                return Allowance(per_minute, 0, wait, before - now)
            self.times[place + 1] = before + step
        left = int((now + MINUTE - before - step) / step + EXACT)
        return Allowance(per_minute, left, 0, before + step - now)

    def clear(self):
        """Fill all buckets."""
        with self.lock:
            for index in range(SLOTS * WORDS):
                self.keys[index] = 0

    def _place(self, key):
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
    """Take one request of a person's, whatever token or browser it came with; None when there is no limit."""
    per_minute = settings.API_PER_MINUTE
    return buckets.take(f"person {user.pk}", per_minute) if per_minute else None


def take_for_failed_token(request):
    """Take one wrong token of an address; None when it showed none, or there is no limit."""
    per_minute = settings.API_FAILURES_PER_MINUTE
    if not per_minute or "Authorization" not in request.headers:
        return None
    return buckets.take(f"failed {request.META.get('REMOTE_ADDR', '')}", per_minute)


def build_limit_refusal(allowance):
    """The answer to somebody whose bucket is empty."""
    seconds = math.ceil(allowance.wait_seconds)
    sentence = _("Too many requests: %(limit)s a minute are allowed. Try again in %(seconds)s s.")
    return build_error(429, sentence % {"limit": allowance.limit, "seconds": seconds}, headers={"Retry-After": seconds})


def set_headers(response, allowance):
    """Say in the headers of an answer how much is left."""
    response["RateLimit-Limit"] = allowance.limit
    response["RateLimit-Remaining"] = allowance.remaining
    response["RateLimit-Reset"] = math.ceil(allowance.reset_seconds)
