"""Passwords are hashed one at a time: each takes 100 MB and all cores for a moment, and anybody may ask for it."""

import threading

from django.contrib.auth.hashers import Argon2PasswordHasher

_one = threading.Lock()


class OneAtATimeHasher(Argon2PasswordHasher):
    """Argon2 as Django has it; whoever signs in meanwhile waits in line, in each process."""

    def encode(self, password, salt):
        with _one:
            return super().encode(password, salt)

    def verify(self, password, encoded):
        with _one:
            return super().verify(password, encoded)
