"""Every list as JSON lines: all rows that its filters admit, one to a line, however many there are.

A stream is the list, asked for page after page inside one answer: rows look the same, filters mean the same, no
database cursor stays open while somebody reads slowly, and no more than one page is in memory.
"""

from copy import copy

import orjson
from django.utils.translation import gettext as _

from ..pages.downloads import StreamedDownload, TooManyDownloads
from .error_responses import build_refusal, build_validation_error

TYPE = "application/x-ndjson"
MOST = 10**9
NAMES = ("json", "jsonl")


class BrokenStream(Exception):
    """A page in the middle of a stream failed: the connection is broken off, so that nobody takes it for the end."""


def is_list(operation):
    """Whether an operation answers pages of items."""
    model = operation.response_models.get(200)
    answer = model and getattr(model.model_fields["response"].annotation, "model_fields", {})
    return bool(answer) and {"items", "next"} <= answer.keys()


def get_page_size(operation):
    """How many rows the operation gives at most in one page."""
    for field in _query_fields(operation):
        if (limit := field.get("limit")) is not None:
            return max(getattr(rule, "le", None) or 0 for rule in limit.metadata) or 50
    return 50


def get_query_names(operation):
    """The names of the query parameters an operation takes."""
    return {name for fields in _query_fields(operation) for name in fields}


def get_known_names(operation):
    """Every name that a query of an operation may hold: a parameter may go by another one than in our code."""
    fields = [field for found in _query_fields(operation) for field in found.values()]
    aliases = {field.alias for field in fields if field.alias}
    return aliases | get_query_names(operation) | ({"format"} if is_list(operation) else set())


def read_format(request):
    """Which form of a list is asked for: `json` or `jsonl`; None for a form there is not. `format` beats `Accept`."""
    wanted = request.GET.get("format")
    if wanted is not None:
        return wanted if wanted in NAMES else None
    return "jsonl" if TYPE in request.headers.get("Accept", "") else "json"


def check_format(request):
    """The answer to a `format` or, for JSON lines, a `limit` that does not fit; None when both do."""
    form = read_format(request)
    if form is None:
        return build_validation_error([{"loc": ["query", "format"], "msg": _("json or jsonl")}])
    limit = request.GET.get("limit")
    if form == "jsonl" and limit is not None and not _is_count(limit):
        return build_validation_error(
            [{"loc": ["query", "limit"], "msg": _("a whole number from 1 to %(most)s") % {"most": MOST}}]
        )
    return None


def stream_jsonl(run, request, values, size):
    """The answer of a list as JSON lines; `run` gives one page of at most `size` rows. Failures at once are said."""
    try:
        response = StreamedDownload((), content_type=f"{TYPE}; charset=utf-8")
    except TooManyDownloads as exc:
        return build_refusal(exc)
    limit = int(request.GET.get("limit") or MOST)
    first = _page(run, request, values, request.GET.get("after"), min(limit, size))
    if first.status_code != 200:
        response.close()
        return first
    response.streaming_content = _lines(run, request, values, orjson.loads(first.content), limit, size)
    return response


def _lines(run, request, values, page, left, size):
    while True:
        if items := page["items"][:left]:
            yield b"".join(orjson.dumps(item) + b"\n" for item in items)
        left -= len(items)
        if page["next"] is None or left <= 0:
            return
        answer = _page(run, request, values, page["next"], min(left, size))
        if answer.status_code != 200:
            raise BrokenStream(answer.content.decode())
        page = orjson.loads(answer.content)


def _page(run, request, values, after, size):
    part = copy(request)
    part.GET = request.GET.copy()
    for name in ("format", "before", "after"):
        part.GET.pop(name, None)
    part.GET["limit"] = str(size)
    if after:
        part.GET["after"] = after
    return run(part, **values)


def _is_count(text):
    return text.isascii() and text.isdecimal() and len(text) < 11 and 1 <= int(text) <= MOST


def _query_fields(operation):
    """The query parameters of an operation as {name: field}, one dictionary for each model that holds some."""
    for model in operation.models:
        if model.__ninja_param_source__ == "query":
            for name, field in model.model_fields.items():
                yield getattr(field.annotation, "model_fields", None) or {name: field}
