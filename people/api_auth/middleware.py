"""Wraps every operation of the API with checks, limits and repeat protection.

In this order: authentication, rate limit, role; names of the specs, unknown parameters, readable body. Then a write is
carried out once for each `Idempotency-Key`, a list may be streamed as JSON lines, and an unchanged answer is not sent
again.
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
# Statuses of requests that did nothing, for a reason that may not apply the next time.
NOT_KEPT = {401, 403, 413, 415, 429}


def wrap_operation(run):
    """Wrap the `run` of an operation with all of these steps."""
    operation = run.__self__
    query_spellings = spellings.find_spellings(streams.get_query_names(operation))
    body_spellings = spellings.find_spellings(_body_names(operation))
    size = streams.get_page_size(operation) if streams.is_list(operation) else None
    known = streams.get_known_names(operation)

    @wraps(run)
    def answer(request, **values):
        refusal = operation._run_checks(request)  # authenticates; ninja reuses the result below
        if refusal is not None:
            return answer_stranger(request, refusal)
        allowance = limits.take_for_person(request.user)
        request.requests_left = allowance and allowance.remaining
        if allowance and allowance.is_used_up:
            response = limits.build_limit_refusal(allowance)
        else:
            request.GET = spellings.rename_query(request.GET, query_spellings)
            request.body_spellings = body_spellings
            response = (
                _refuse_role(request, operation)
                or _refuse_parameters(request, known)
                or _refuse_body(request)
                or _run_operation(run, request, values, size)
            )
        if allowance:
            limits.set_headers(response, allowance)
        return response

    return answer


def answer_stranger(request, response):
    """Return a 401, or 429 after too many wrong tokens from one address."""
    allowance = limits.take_for_failed_token(request) if response.status_code == 401 else None
    return limits.build_limit_refusal(allowance) if allowance and allowance.is_used_up else response


def _refuse_role(request, operation):
    """The 403 for a role that is too low, before any input is read; or None."""
    is_enough = request.user.has_role(operation.view_func.needs_role)
    return None if is_enough else not_allowed(request, PermissionDenied())


def _refuse_parameters(request, known):
    """The 422 for unknown parameters, or None.

    If they were ignored, a filter would seem to be in force.
    """
    unknown = [name for name in request.GET if name not in known]
    why = _("unknown parameter")
    return build_validation_error([{"loc": ["query", name[:100]], "msg": why} for name in unknown]) if unknown else None


def _refuse_body(request):
    """The answer to a body that is too large or no JSON; or None."""
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


def _run_operation(run, request, values, size):
    if request.method in WRITES:
        key = request.headers.get("Idempotency-Key")
        return run(request, **values) if key is None else _run_once(run, request, values, key)
    if size is None:
        return etags.apply_etag(request, run(request, **values))
    if refused := streams.check_format(request):
        return refused
    if streams.read_format(request) == "jsonl":
        return streams.stream_jsonl(run, request, values, size)
    return etags.apply_etag(request, run(request, **values))


def _run_once(run, request, values, key):
    if not KEY.fullmatch(key):
        return build_validation_error(
            [{"loc": ["header", "Idempotency-Key"], "msg": _("1 to 200 visible ASCII characters")}]
        )
    try:
        parts = (request.method.encode(), request.get_full_path().encode(), request.body)
        claim = idempotency.begin(request.user, key, hashlib.sha256(b"\0".join(parts)).hexdigest())
    except idempotency.OtherRequest:
        why = _("this key was used for another request; use a new key")
        return build_validation_error([{"loc": ["header", "Idempotency-Key"], "msg": why}])
    except idempotency.InProgress as busy:
        sentence = _("The first request with this key is still running. Try again in a moment.")
        return build_error(409, sentence, code="in_progress", reasons=[], headers={"Retry-After": busy.wait_seconds})
    return (
        _replay_answer(claim) if isinstance(claim, idempotency.Answer) else _run_and_store(run, request, values, claim)
    )


def _run_and_store(run, request, values, claim):
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


def _replay_answer(answer):
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


def _body_names(operation):
    for model in operation.models:
        if model.__ninja_param_source__ == "body":
            for field in model.model_fields.values():
                yield from getattr(field.annotation, "model_fields", {})
