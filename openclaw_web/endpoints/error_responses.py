"""Failures under /api/ as JSON of one shape.

Answers of Django itself, before any operation is reached, have the same shape.

`{"detail": a sentence, "code": a word for programs}`; 409 also has `reasons` (rows in the way), 422 `errors` (places).
"""

import secrets

import orjson
from django.http import HttpResponse, HttpResponseBadRequest, HttpResponseServerError
from django.shortcuts import render
from django.template.loader import get_template
from django.utils.translation import gettext as _
from django.views import csrf, defaults

from ..pages import not_found_page
from ..pages.proxy_headers import ProxyFault

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
    """Build the JSON answer for a failed request; `more` are further keys of the body."""
    body = {"detail": str(detail), "code": code or CODES.get(status, "failed"), **more}
    return HttpResponse(orjson.dumps(body), status=status, content_type="application/json", headers=headers)


def build_validation_error(errors):
    """Build the 422 answer; `errors` are dictionaries with `loc` and `msg`."""
    places = [{"loc": _clean_location(error["loc"]), "msg": strip_error_prefix(str(error["msg"]))} for error in errors]
    first = places[0]
    if field := ".".join(map(str, first["loc"][1:])):
        words = {"place": field, "why": first["msg"].rstrip(".")}
        sentence = _("The request is not valid: %(place)s: %(why)s.") % words
    elif errors[0].get("type") == "missing":
        sentence = _("The request has no body. Send a JSON object.")
    else:
        sentence = _("The request is not valid: %(why)s.") % {"why": first["msg"].rstrip(".")}
    return build_error(422, sentence, errors=places)


def _clean_location(loc):
    """The location of an error as the sender knows it.

    ninja adds the name of the argument that takes the body; it is left out.
    """
    return [loc[0], *loc[2:]] if loc[0] == "body" else list(loc)


def strip_error_prefix(message):
    """Remove pydantic's prefix from the message of a ValueError of ours."""
    return message.removeprefix("Value error, ")


def build_refusal(failure):
    """Build the answer for a UserFacingError."""
    more = {"reasons": failure.reasons} if failure.status == 409 else {}
    return build_error(failure.status, failure.sentence, code=failure.code, headers=failure.headers, **more)


def with_json_refusals(view):
    """Wrap a view of the API so that 405 is answered as JSON."""

    def json_view(request, *args, **kwargs):
        response = view(request, *args, **kwargs)
        if response.status_code != 405:
            return response
        return build_error(405, _("This address does not support this method."), headers={"Allow": response["Allow"]})

    json_view.__dict__.update(view.__dict__)
    return json_view


def bad_request(request, exception):
    """Answer a refused request: an unknown host, too many fields, a fault of the proxy."""
    if isinstance(exception, ProxyFault):
        if _is_api(request):
            return build_error(400, str(exception), code="proxy")
        return HttpResponseBadRequest(get_template("refused.html").render({"sentence": str(exception)}))
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
