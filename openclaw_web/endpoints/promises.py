"""What the OpenAPI document says of every operation beside its own parameters and answers."""

from http import HTTPStatus

from . import streams

PROBLEM = {"$ref": "#/components/schemas/Problem"}
KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
    "description": "any text that is new for each write: sent again within a day, it gets the same answer",
}
KNOWN = {
    "in": "header",
    "name": "If-None-Match",
    "required": False,
    "schema": {"type": "string"},
    "description": "the ETag of the answer you have: 304 when nothing changed",
}
FORMAT = {
    "in": "query",
    "name": "format",
    "required": False,
    "schema": {"type": "string", "enum": list(streams.NAMES)},
    "description": "`jsonl` streams all rows, one to a line, also with `Accept: application/x-ndjson`; `limit` is then "
    "how many rows at most, however many",
}
LIMITS = {
    "RateLimit-Limit": "requests a minute",
    "RateLimit-Remaining": "how many are left now",
    "RateLimit-Reset": "seconds until all of them are there again",
}


def of(operation, role):
    """The `openapi_extra` of an operation that `role` may use."""
    extra = dict(operation.openapi_extra or {})
    is_write = "GET" not in operation.methods
    extra["x-role"] = role
    extra["parameters"] = [*extra.get("parameters", []), *([KEY] if is_write else [KNOWN])]
    responses = {int(status): dict(answer) for status, answer in extra.get("responses", {}).items()}
    more = (400, 409, 413, 415) if is_write else ()
    for status in (*more, 429, 503):
        responses.setdefault(status, _failure(status))
    if is_write:
        _headers(responses[409], {"Retry-After": "seconds, when the first request with this key is under way"})
    else:
        responses[304] = {"description": "Not Modified"}
        if streams.is_list(operation):
            extra["parameters"] = [*extra["parameters"], FORMAT]
            responses.setdefault(200, {}).setdefault("content", {})[streams.TYPE] = {"schema": {}}
    _headers(responses[429], {"Retry-After": "seconds to wait"})
    for status in operation.response_models:
        if status == 200 or status == 202:
            _headers(responses.setdefault(int(status), {}), LIMITS)
    extra["responses"] = responses
    return extra


def _failure(status):
    return {"description": HTTPStatus(status).phrase, "content": {"application/json": {"schema": PROBLEM}}}


def _headers(response, named):
    headers = response.setdefault("headers", {})
    headers |= {name: {"schema": {"type": "integer"}, "description": words} for name, words in named.items()}
