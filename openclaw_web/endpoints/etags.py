"""Answers that were not changed need not be sent again: `ETag` and `If-None-Match`."""

import hashlib

from django.http import HttpResponseNotModified
from django.utils.http import parse_etags

KEPT = ("ETag", "Cache-Control", "Vary", "Last-Modified")


def apply_etag(request, response):
    """The answer of a GET with its ETag, or 304 when that is the one the other side has.

    An operation that knows a cheaper mark of its answer's version sets the header itself.
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
    """The strong ETag of bytes."""
    return f'"{hashlib.blake2b(data, digest_size=16).hexdigest()}"'


def names(header, mark):
    """Whether a list of ETags (or `*`) names this one; weak ones count as what they are a weak form of."""
    known = parse_etags(header)
    return known == ["*"] or mark.removeprefix("W/") in {known_mark.removeprefix("W/") for known_mark in known}
