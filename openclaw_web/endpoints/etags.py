"""Conditional GET: `ETag` and `If-None-Match`, so that unchanged answers are not sent again."""

import hashlib

from django.http import HttpResponseNotModified
from django.utils.http import parse_etags

KEPT = ("ETag", "Cache-Control", "Vary", "Last-Modified")


def apply_etag(request, response):
    """Add an ETag to the answer of a GET, or replace it by 304.

    The answer is 304 when `If-None-Match` names its ETag. An operation that knows a cheaper version mark of its answer
    sets the header itself.
    """
    if response.status_code != 200 or (response.streaming and not response.has_header("ETag")):
        return response
    if not response.has_header("ETag"):
        response["ETag"] = etag(response.content)
    if not names(request.headers.get("If-None-Match", ""), response["ETag"]):
        return response
    unchanged = HttpResponseNotModified()
    for name in KEPT:
        if name in response:
            unchanged[name] = response[name]
    if response.streaming:
        response.close()  # the file is not going to be read
    return unchanged


def etag(data):
    """The strong ETag of a body (bytes), a BLAKE2 hash in quotes."""
    return f'"{hashlib.blake2b(data, digest_size=16).hexdigest()}"'


def names(header, mark):
    """Whether a list of ETags (or `*`) contains this one.

    Weak and strong forms of an ETag count as equal.
    """
    known = parse_etags(header)
    return known == ["*"] or mark.removeprefix("W/") in {known_mark.removeprefix("W/") for known_mark in known}
