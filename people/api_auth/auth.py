"""Authenticates requests to the API by a session or a token."""

from ninja.security import HttpBearer
from ninja.security import SessionAuth as NinjaSessionAuth

from ..accounts import tokens
from ..audit import log as audit


class TokenAuth(HttpBearer):
    """Authenticates `Authorization: Bearer oc_…`.

    The request acts as the token's owner, limited to the token's role.
    """

    def __call__(self, request):
        # The pages of a stream, and the two steps of people.api_auth.middleware, are one request of one person.
        return getattr(request, "auth", None) or super().__call__(request)

    def authenticate(self, request, token):
        user = tokens.find_user(token)
        if user:
            request.user = user
            audit.set_via(f"token {tokens.get_public_part(token)}")
        return user


class SessionAuth(NinjaSessionAuth):
    """Authenticates a person who is signed in on the pages.

    Requests that change something need the CSRF token as well.
    """

    def __call__(self, request):
        # A program with an invalid token gets 401, even where a session would let it in.
        return None if "Authorization" in request.headers else super().__call__(request)
