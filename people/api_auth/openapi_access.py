"""Access to the OpenAPI document for programs as well as people."""

from functools import wraps

from . import middleware
from .auth import TokenAuth


def allow_tokens(view, not_signed_in):
    """Open the view of the document to valid tokens and to people who signed in.

    `not_signed_in` answers all others.
    """

    @wraps(view)
    def answer(request, *args, **kwargs):
        is_known = TokenAuth()(request) if "Authorization" in request.headers else request.user.is_authenticated
        if not is_known:
            return middleware.answer_stranger(request, not_signed_in(request, None))
        return view(request, *args, **kwargs)

    return answer
