"""Extras of the OpenAPI document that every operation has, such as common headers and failures."""

from http import HTTPStatus

from . import streams

PROBLEM = {"$ref": "#/components/schemas/Problem"}
KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
    "description": "any text, new for each write: a request sent again within a day gets the same answer",
}
KNOWN = {
    "in": "header",
    "name": "If-None-Match",
    "required": False,
    "schema": {"type": "string"},
    "description": "the ETag of the answer you have; 304 if nothing has changed",
}
FORMAT = {
    "in": "query",
    "name": "format",
    "required": False,
    "schema": {"type": "string", "enum": list(streams.NAMES)},
    "description": "`jsonl` streams all rows, one per line, as does `Accept: application/x-ndjson`; `limit` is then "
    "the maximum number of rows, without an upper bound",
}
LIMITS = {
    "RateLimit-Limit": "allowed requests a minute",
    "RateLimit-Remaining": "requests left now",
    "RateLimit-Reset": "seconds until the full number is available again",
}


def build_extra(operation, role):
    """Build the `openapi_extra` of an operation that `role` may use."""
    extra = dict(operation.openapi_extra or {})
    is_write = "GET" not in operation.methods
    extra["x-role"] = role
    extra["parameters"] = [*extra.get("parameters", []), *([KEY] if is_write else [KNOWN])]
    responses = {int(status): dict(answer) for status, answer in extra.get("responses", {}).items()}
    more = (400, 409, 413, 415) if is_write else ()
    for status in (*more, 429, 503):
        responses.setdefault(status, describe_failure(status))
    if is_write:
        _add_headers(
            responses[409], {"Retry-After": "seconds to wait while the first request with this key is running"}
        )
    else:
        responses[304] = {"description": "Not Modified"}
        if streams.is_list(operation):
            extra["parameters"] = [*extra["parameters"], FORMAT]
            responses.setdefault(200, {}).setdefault("content", {})[streams.TYPE] = {"schema": {}}
    _add_headers(responses[429], {"Retry-After": "seconds to wait before the next request"})
    for status in operation.response_models:
        if status == 200 or status == 202:
            _add_headers(responses.setdefault(int(status), {}), LIMITS)
    extra["responses"] = responses
    return extra


def describe_failure(status):
    """Describe the failure with this status for the document."""
    return {"description": HTTPStatus(status).phrase, "content": {"application/json": {"schema": PROBLEM}}}


def _add_headers(response, named):
    headers = response.setdefault("headers", {})
    headers |= {name: {"schema": {"type": "integer"}, "description": words} for name, words in named.items()}
