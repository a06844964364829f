"""What every operation of the API does besides its own work, in this order.

Who is asking, how often they may, and whether their role is enough; the names of the specs, and whether there are such
parameters; whether the body can be read at all; then a write is done once for each `Idempotency-Key`, a list may come
as JSON lines, and what somebody has already is not sent again.
"""

import hashlib
import re
from functools import wraps

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import HttpResponse
from django.utils.translation import gettext as _

from openclaw_web.endpoints import etags, spellings, streams
from openclaw_web.endpoints.error_responses import build_error, build_validation_error, not_allowed
from openclaw_web.pages.formatting import size

from . import idempotency, limits

KEY = re.compile(r"[\x21-\x7e]{1,200}")
WRITES = ("POST", "DELETE")
# Answers that say nothing was done, for a reason that may be gone the next time.
NOT_KEPT = {401, 403, 413, 415, 429}


def wrap_operation(run):
    """The `run` of an operation with all of this around it."""
    operation = run.__self__
    query_spellings = spellings.find_spellings(streams.get_query_names(operation))
    body_spellings = spellings.find_spellings(_body_names(operation))
    size = streams.get_page_size(operation) if streams.is_list(operation) else None
    known = streams.get_known_names(operation)

    @wraps(run)
    def answer(request, **values):
        refused = operation._run_checks(request)  # who is asking: below, ninja finds them known
        if refused is not None:
            return answer_stranger(request, refused)
        allowance = limits.take_for_person(request.user)
        request.requests_left = allowance and allowance.remaining
        if allowance and allowance.is_used_up:
            response = limits.build_limit_refusal(allowance)
        else:
            request.GET = spellings.rename_query(request.GET, query_spellings)
            request.body_spellings = body_spellings
            response = (
                _not_enough(request, operation)
                or _no_such_parameter(request, known)
                or _unreadable(request)
                or _carry_out(run, request, values, size)
            )
        if allowance:
            limits.set_headers(response, allowance)
        return response

    return answer


def answer_stranger(request, response):
    """A 401 as it is, until there were too many wrong tokens from one address."""
    allowance = limits.take_for_failed_token(request) if response.status_code == 401 else None
    return limits.build_limit_refusal(allowance) if allowance and allowance.is_used_up else response


def _not_enough(request, operation):
    """The answer to somebody whose role is too low, before anything of what they sent is looked at."""
    is_enough = request.user.has_role(operation.view_func.needs_role)
    return None if is_enough else not_allowed(request, PermissionDenied())


def _no_such_parameter(request, known):
    """The answer to a parameter that the operation does not have: ignored, a filter would seem to be in force."""
    unknown = [name for name in request.GET if name not in known]
    why = _("unknown parameter")
    return build_validation_error([{"loc": ["query", name[:100]], "msg": why} for name in unknown]) if unknown else None


def _unreadable(request):
    """The answer to a body that is too big or no JSON; None when there is nothing to say."""
    try:
        body = request.body
    except RequestDataTooBig:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        return build_error(
            413, _("A request body can have at most %(most)s. Send the data in parts.") % {"most": size(most)}
        )
    if body and request.content_type != "application/json":
        return build_error(415, _("Send JSON, with the header Content-Type: application/json."))
    return None


def _carry_out(run, request, values, size):
    if request.method in WRITES:
        key = request.headers.get("Idempotency-Key")
        return run(request, **values) if key is None else _once(run, request, values, key)
    if size is None:
        return etags.apply_etag(request, run(request, **values))
    if refused := streams.check_format(request):
        return refused
    if streams.read_format(request) == "jsonl":
        return streams.stream_jsonl(run, request, values, size)
    return etags.apply_etag(request, run(request, **values))


def _once(run, request, values, key):
    if not KEY.fullmatch(key):
        return build_validation_error(
            [{"loc": ["header", "Idempotency-Key"], "msg": _("1 to 200 visible ASCII characters")}]
        )
    try:
        claim = idempotency.begin(request.user, key, _fingerprint(request))
    except idempotency.OtherRequest:
        why = _("this key was used for another request; use a new key")
        return build_validation_error([{"loc": ["header", "Idempotency-Key"], "msg": why}])
    except idempotency.InProgress as busy:
        sentence = _("The first request with this key is still running. Try again in a moment.")
        return build_error(409, sentence, code="in_progress", reasons=[], headers={"Retry-After": busy.wait_seconds})
    return _again(claim) if isinstance(claim, idempotency.Answer) else _first(run, request, values, claim)


def _first(run, request, values, claim):
    response = None
    try:
        response = run(request, **values)
    finally:
        if response is None or response.status_code >= 500 or response.status_code in NOT_KEPT:
            idempotency.give_up(claim)
        else:
            is_secret = "no-store" in response.get("Cache-Control", "")
            body = None if is_secret else response.content
            idempotency.end(claim, idempotency.Answer(response.status_code, response["Content-Type"], body))
    return response


def _again(answer):
    if answer.body is None:
        sentence = _(
            "This request was already carried out. Its answer contained a secret, which is shown only once "
            "and not stored."
        )
        response = build_error(409, sentence, code="done_before", reasons=[])
    else:
        response = HttpResponse(answer.body, status=answer.status, content_type=answer.content_type)
    response["Idempotency-Replayed"] = "true"
    return response


def _fingerprint(request):
    parts = (request.method.encode(), request.get_full_path().encode(), request.body)
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _body_names(operation):
    for model in operation.models:
        if model.__ninja_param_source__ == "body":
            for field in model.model_fields.values():
                yield from getattr(field.annotation, "model_fields", {})
