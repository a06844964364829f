"""The version of a sample, which `ETag` and `If-Match` compare."""

import hashlib
from collections.abc import Callable

import orjson
from django.utils.http import parse_etags

from .models import DatasetSample


def compute_version(sample: DatasetSample, *, last_label: str | None = None) -> str:
    """A text that changes with every column of the sample, except its score, and with every verdict on it.

    The id of the last verdict is looked up in an index, unless the caller has just given it.
    """
    last = last_label or sample.labels.order_by("-labelled_at", "-id").values_list("id", flat=True).first()
    fields = [field.attname for field in sample._meta.concrete_fields]
    # A job sets the score at any time: a verdict on the same words must not be refused for that.
    columns = [getattr(sample, name) for name in fields if name not in ("quality_score", "quality_factors")]
    return hashlib.blake2b(orjson.dumps([*columns, last]), digest_size=16).hexdigest()


def parse_if_match(header: str | None) -> Callable[[str], bool] | None:
    """A predicate whether `If-Match` names a version (`*`: any); None without that header."""
    if not header:
        return None
    # A proxy that compresses the response makes its ETag a weak one.
    known = {mark.removeprefix("W/") for mark in parse_etags(header)}
    return lambda version: "*" in known or f'"{version}"' in known
