"""What a failure looks like under /api/: one shape, also where Django answers before any operation is reached.

`{"detail": a sentence, "code": a word for programs}`; 409 also has `reasons` (rows in the way), 422 `errors` (places).
"""

import secrets

import orjson
from django.http import HttpResponse, HttpResponseServerError
from django.shortcuts import render
from django.template.loader import get_template
from django.utils.translation import gettext as _
from django.views import csrf, defaults

from ..pages import not_found_page

CODES = {
    400: "bad_request",
    401: "not_signed_in",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    409: "refused",
    410: "gone",
    412: "changed_meanwhile",
    413: "too_big",
    415: "not_json",
    416: "no_such_range",
    422: "invalid",
    429: "too_many_requests",
    500: "error",
    503: "not_now",
}


def build_error(status, detail, *, code=None, headers=None, **more):
    """The answer to a request that failed; `more` are further keys of the body."""
    body = {"detail": str(detail), "code": code or CODES.get(status, "failed"), **more}
    return HttpResponse(orjson.dumps(body), status=status, content_type="application/json", headers=headers)


def build_validation_error(errors):
    """The answer to a request that does not fit; `errors` are dictionaries with `loc` and `msg`."""
    places = [{"loc": _place(error["loc"]), "msg": strip_error_prefix(str(error["msg"]))} for error in errors]
    first = places[0]
    parts = first["loc"][1:] if first["loc"][0] == "body" else first["loc"]
    sentence = _("The request is not valid: %(place)s: %(why)s.") % {
        "place": ".".join(map(str, parts or ["body"])),
        "why": first["msg"].rstrip("."),
    }
    return build_error(422, sentence, errors=places)


def _place(loc):
    """Where something is wrong, as whoever sent it knows it: ninja also names the argument that took the body."""
    return [loc[0], *loc[2:]] if loc[0] == "body" else list(loc)


def strip_error_prefix(message):
    """What pydantic says of a value, without its word for a sentence of ours."""
    return message.removeprefix("Value error, ")


def build_refusal(failure):
    """The answer that an Answerable knows."""
    more = {"reasons": failure.reasons} if failure.status == 409 else {}
    return build_error(failure.status, failure.sentence, code=failure.code, headers=failure.headers, **more)


def with_json_refusals(view):
    """A view of the API whose refused methods are said as JSON."""

    def said(request, *args, **kwargs):
        response = view(request, *args, **kwargs)
        if response.status_code != 405:
            return response
        return build_error(405, _("This address does not support this method."), headers={"Allow": response["Allow"]})

    said.__dict__.update(view.__dict__)
    return said


def bad_request(request, exception):
    """What Django calls for a request it does not trust: an unknown host, too many fields."""
    if not _is_api(request):
        return defaults.bad_request(request, exception)
    return build_error(400, _("This request cannot be read. Check its host, its fields and its body."))


def not_allowed(request, exception):
    if not _is_api(request):
        return defaults.permission_denied(request, exception)
    return build_error(403, _("Your role, or the token's, does not allow this."))


def not_found(request, exception):
    if not _is_api(request):
        return render(request, "404.html", not_found_page.build_context(request, exception), status=404)
    sentence = not_found_page.build_api_sentence(request, exception)
    return build_error(404, sentence or _("There is nothing at this address."))


def server_error(request):
    if not _is_api(request):
        request.reference = secrets.token_hex(4)  # openclaw_web.logs writes it beside the traceback
        return HttpResponseServerError(get_template("500.html").render({"reference": request.reference}))
    return build_error(500, _("Something went wrong on the server. See the server log."))


def csrf_failure(request, reason=""):
    if not _is_api(request):
        return csrf.csrf_failure(request, reason=reason)
    return build_error(403, describe_csrf_failure(), code="csrf")


def describe_csrf_failure():
    return _("The CSRF token is missing or wrong. Send it as X-CSRFToken, or use an API token.")


def _is_api(request):
    return request.path.startswith("/api/")
