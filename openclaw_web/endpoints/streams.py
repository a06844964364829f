"""Streams a list as JSON lines: all rows that match its filters, one per line.

A stream reads the list page after page within one answer. So rows look the same and filters mean the same as in pages,
no database cursor stays open while the client reads slowly, and only one page at a time is in memory.
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
    """A page in the middle of a stream failed.

    The connection is closed then, so that no client takes the failure for the end of the list.
    """


def is_list(operation):
    """Whether an operation answers with pages of items."""
    model = operation.response_models.get(200)
    answer = model and getattr(model.model_fields["response"].annotation, "model_fields", {})
    return bool(answer) and {"items", "next"} <= answer.keys()


def get_page_size(operation):
    """The largest number of rows in one page of an operation."""
    for field in _iterate_query_fields(operation):
        if (limit := field.get("limit")) is not None:
            return max(getattr(rule, "le", None) or 0 for rule in limit.metadata) or 50
    return 50


def get_query_names(operation):
    """The names of the query parameters of an operation, as in our code."""
    return {name for fields in _iterate_query_fields(operation) for name in fields}


def get_known_names(operation):
    """Every name that a query of an operation may hold, aliases included."""
    fields = [field for named_fields in _iterate_query_fields(operation) for field in named_fields.values()]
    aliases = {field.alias for field in fields if field.alias}
    return aliases | get_query_names(operation) | ({"format"} if is_list(operation) else set())


def read_format(request):
    """The requested format of a list, `json` or `jsonl`; None for an unknown one.

    The parameter `format` takes precedence over the header `Accept`.
    """
    requested = request.GET.get("format")
    if requested is not None:
        return requested if requested in NAMES else None
    return "jsonl" if TYPE in request.headers.get("Accept", "") else "json"


def check_format(request):
    """The 422 answer to an invalid `format` or `limit`; None when both are valid.

    `limit` is checked only for JSON lines.
    """
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
    """Answer a list as JSON lines; `run` gives one page of at most `size` rows.

    A failure of the first page is the answer; a later one raises BrokenStream.
    """
    try:
        response = StreamedDownload((), content_type=f"{TYPE}; charset=utf-8")
    except TooManyDownloads as exc:
        return build_refusal(exc)
    limit = int(request.GET.get("limit") or MOST)
    first = _run_page(run, request, values, request.GET.get("after"), min(limit, size))
    if first.status_code != 200:
        response.close()
        return first
    response.streaming_content = _stream_lines(run, request, values, orjson.loads(first.content), limit, size)
    return response


def _stream_lines(run, request, values, page, remaining, size):
    while True:
        if items := page["items"][:remaining]:
            yield b"".join(orjson.dumps(item) + b"\n" for item in items)
        remaining -= len(items)
        if page["next"] is None or remaining <= 0:
            return
        answer = _run_page(run, request, values, page["next"], min(remaining, size))
        if answer.status_code != 200:
            raise BrokenStream(answer.content.decode())
        page = orjson.loads(answer.content)


def _run_page(run, request, values, after, size):
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


def _iterate_query_fields(operation):
    """Yield the query parameters of an operation as {name: field}, one dictionary per model."""
    for model in operation.models:
        if model.__ninja_param_source__ == "query":
            for name, field in model.model_fields.items():
                yield getattr(field.annotation, "model_fields", None) or {name: field}
