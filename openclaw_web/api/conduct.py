"""What every operation of the API does besides its own work, in this order.

Who is asking, how often they may; whether the request can be read at all; the names of the specs; then a write is done
once for each `Idempotency-Key`, a list may come as JSON lines, and what somebody has already is not sent again.
"""

import hashlib
import re
from functools import wraps

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpResponse
from django.utils.translation import gettext as _

from operations import idempotency

from . import conditions, limits, spellings, streams
from .problems import invalid, problem

KEY = re.compile(r"[\x21-\x7e]{1,200}")
WRITES = ("POST", "DELETE")
# Answers that say nothing was done, for a reason that may be gone the next time.
NOT_KEPT = {401, 403, 413, 415, 429}


def conducted(run):
    """The `run` of an operation with all of this around it."""
    operation = run.__self__
    query_spellings = spellings.of(streams.query_names(operation))
    body_spellings = spellings.of(_body_names(operation))
    size = streams.page_size(operation) if streams.is_list(operation) else None

    @wraps(run)
    def answer(request, **values):
        refused = operation._run_checks(request)  # who is asking: below, ninja finds them known
        if refused is not None:
            return _unknown(request, refused)
        allowance = limits.of_person(request.user)
        request.requests_left = allowance and allowance.remaining
        if allowance and allowance.is_used_up:
            response = limits.refusal(allowance)
        else:
            request.GET = spellings.renamed_query(request.GET, query_spellings)
            request.body_spellings = body_spellings
            response = _unreadable(request) or _carry_out(run, request, values, size)
        if allowance:
            limits.label(response, allowance)
        return response

    return answer


def _unknown(request, response):
    """A 401 as it is, until there were too many wrong tokens from one address."""
    allowance = limits.of_failed_token(request) if response.status_code == 401 else None
    return limits.refusal(allowance) if allowance and allowance.is_used_up else response


def _unreadable(request):
    """The answer to a body that is too big or no JSON; None when there is nothing to say."""
    try:
        body = request.body
    except RequestDataTooBig:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        return problem(413, _("A body may have %(most)s bytes. Send it in parts.") % {"most": most})
    if body and request.content_type != "application/json":
        return problem(415, _("Send JSON, with the header Content-Type: application/json."))
    return None


def _carry_out(run, request, values, size):
    if request.method in WRITES:
        key = request.headers.get("Idempotency-Key")
        return run(request, **values) if key is None else _once(run, request, values, key)
    if size is None:
        return conditions.conditional(request, run(request, **values))
    if refused := streams.check(request):
        return refused
    if streams.asked(request) == "jsonl":
        return streams.jsonl(run, request, values, size)
    return conditions.conditional(request, run(request, **values))


def _once(run, request, values, key):
    if not KEY.fullmatch(key):
        return invalid([{"loc": ["header", "Idempotency-Key"], "msg": _("1 to 200 visible ASCII characters")}])
    if not request.user.has_role(run.__self__.view_func.needs_role):
        return run(request, **values)  # refused: what a higher role was answered is not for this token
    try:
        claim = idempotency.begin(request.user, key, _fingerprint(request))
    except idempotency.OtherRequest:
        why = _("this key was used for another request; take a new one")
        return invalid([{"loc": ["header", "Idempotency-Key"], "msg": why}])
    except idempotency.InProgress as busy:
        sentence = _("The first request with this key is still under way. Ask again in a moment.")
        return problem(409, sentence, code="in_progress", reasons=[], headers={"Retry-After": busy.wait_seconds})
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
        sentence = _("This was done. Its answer held a secret, which is shown once and not kept.")
        response = problem(409, sentence, code="done_before", reasons=[])
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
