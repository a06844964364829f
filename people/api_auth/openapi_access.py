"""The OpenAPI document for programs as well: whoever may ask an operation may read what there is to ask."""

from functools import wraps

from . import middleware
from .auth import TokenAuth


def allow_tokens(view, not_signed_in):
    """The view of the document, open to a valid token and to a person who signed in; `not_signed_in` answers others."""

    @wraps(view)
    def answer(request, *args, **kwargs):
        is_known = TokenAuth()(request) if "Authorization" in request.headers else request.user.is_authenticated
        if not is_known:
            return middleware.answer_stranger(request, not_signed_in(request, None))
        return view(request, *args, **kwargs)

    return answer
