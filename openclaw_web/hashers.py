"""Hashes passwords one at a time.

Each hash takes 100 MB and all cores for a moment, and anybody may ask for one.
"""

import threading

from django.contrib.auth.hashers import Argon2PasswordHasher

_lock = threading.Lock()


class OneAtATimeHasher(Argon2PasswordHasher):
    """Argon2 as in Django; further sign-ins wait in line, in each process."""

    def encode(self, password, salt):
        with _lock:
            return super().encode(password, salt)

    def verify(self, password, encoded):
        with _lock:
            return super().verify(password, encoded)
