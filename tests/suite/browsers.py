"""Makes Django's test client cheaper: short sign-ins, and one middleware chain for all.

A sign-in is one row, and all test clients of a worker use one chain of middleware. These took a third of the time of a
page's test. The sign-in forms and links have tests of their own, and no page reads what Django's `force_login` adds to
this (a signal, the time of the last sign-in).
"""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import VALID_KEY_CHARS
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.signals import setting_changed
from django.test import Client
from django.test.client import ClientHandler
from django.utils import timezone
from django.utils.crypto import get_random_string

BACKEND = "django.contrib.auth.backends.ModelBackend"
LOADED = ("_middleware", "_middleware_chain")  # the attributes that loading sets in a handler
_load_middleware = ClientHandler.load_middleware
_chain = {}


def sign_in(client, user, backend=BACKEND):
    """Sign a test client in as `user`."""
    marks = {SESSION_KEY: str(user.pk), BACKEND_SESSION_KEY: backend, HASH_SESSION_KEY: user.get_session_auth_hash()}
    key = get_random_string(32, VALID_KEY_CHARS)
    ends = timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE)
    Session(session_key=key, session_data=SessionStore().encode(marks), expire_date=ends).save(force_insert=True)
    client.cookies[settings.SESSION_COOKIE_NAME] = key


def load_middleware(handler, is_async=False):
    """Reuse the middleware chain of the previous client, unless a setting has changed since."""
    if not _chain:
        _load_middleware(handler, is_async)
        _chain.update({name: value for name, value in vars(handler).items() if name.endswith(LOADED)})
    vars(handler).update(_chain)


def _forget_chain(**_setting):
    _chain.clear()


def make_cheaper():
    """Patch every test client of this process."""
    Client.force_login = sign_in
    ClientHandler.load_middleware = load_middleware
    setting_changed.connect(_forget_chain)
