"""Reads JSON entries for a command from a file or from standard input.

The input is read whole and checked before any of it is used.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from pydantic import ValidationError

from openclaw_web import reasons
from openclaw_web.endpoints import error_responses
from openclaw_web.errors import Refused

from ..amounts import ngettext_lazy
from ..batches import in_batches
from ..endpoints.schemas import Schema
from .groups import Outcome, WrongUse

MOST_BYTES = 64 * 1024 * 1024
LISTED = 20
T = TypeVar("T", bound=Schema)


def read_input(file: str | None) -> bytes:
    """The bytes of a file, or of standard input for None and `-`.

    Raises WrongUse when the file cannot be read, and Refused when it is larger than 64 MB.
    """
    if file in (None, "-"):
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        try:
            with open(file, "rb") as handle:  # noqa: PTH123 - a name of the shell's, as it is
                data = handle.read(MOST_BYTES + 1)
        except OSError as exc:
            words = {"file": file, "reason": reasons.describe_os_error(exc)}
            raise WrongUse(_("%(file)s cannot be read: %(reason)s.") % words) from exc
    if len(data) > MOST_BYTES:
        raise Refused(_("The file is too large: at most %(size)s are read. Nothing was stored.") % {"size": "64 MB"})
    return data


def parse_entries(data: bytes, schema: type[T], *, body: str = "") -> list[T]:
    """Parse a JSON value, a JSON list or JSON lines into entries of `schema`.

    Raises Refused, with a reason for each entry that is not valid.

    `body` is the key under which the API takes such a list: an object that has nothing else stands for its list.
    """
    entries, wrong = [], []
    for number, value in enumerate(_unwrap_bodies(_parse_values(data), body), 1):
        try:
            entries.append(schema.model_validate(value))
        except ValidationError as exc:
            name = value.get("id") if isinstance(value, dict) else None
            # All errors of a value in one sentence; fields that it lacks are named together.
            errors = exc.errors(include_url=False, include_input=False)
            missing = [_format_path(error) for error in errors if error["type"] == "missing"]
            lacks = [_("missing: %(names)s") % {"names": ", ".join(missing)}] if missing else []
            others = [
                f"{_format_path(error)}: {error_responses.strip_error_prefix(error['msg'])}".removeprefix(": ")
                for error in errors
                if error["type"] != "missing"
            ]
            wrong.append({"id": str(name or number), "reason": "; ".join([*lacks, *others])})
    if wrong:
        sentence = ngettext(
            "Nothing was stored: %(count)s entry is not valid.",
            "Nothing was stored: %(count)s entries are not valid.",
            len(wrong),
        )
        raise Refused(sentence % {"count": f"{len(wrong):,}"}, reasons=wrong[:LISTED])
    return entries


def store_entries(
    entries: Sequence[Any],
    at_once: int,
    store_batch: Callable[[Sequence[Any]], Any],
    recorded: ngettext_lazy,
) -> Outcome:
    """Store entries in batches of `at_once`.

    `recorded` are the words for the number (`count`) of new entries.

    Raises Refused, which says what of the batches before it was stored.
    """
    counts = {"recorded": 0, "known": 0, "withheld": 0}
    for batch in in_batches(entries, at_once):
        try:
            result = store_batch(batch)
        except Refused as exc:
            if not sum(counts.values()):
                raise
            words = {"sentence": exc.sentence, "before": _format_counts(counts, recorded)}
            raise Refused(_("%(sentence)s Before it: %(before)s") % words, reasons=exc.reasons) from exc
        counts["recorded"] += len(result.new)
        counts["known"] += len(result.known)
        counts["withheld"] += result.withheld
    return Outcome(counts, _format_counts(counts, recorded))


KNOWN = ngettext_lazy("%(count)s already known", "%(count)s already known", "count")
WITHHELD = ngettext_lazy(
    "%(count)s withheld because somebody opted out", "%(count)s withheld because somebody opted out", "count"
)


def _format_counts(counts, recorded):
    words = {"recorded": recorded, "known": KNOWN, "withheld": WITHHELD}
    parts = [words[name] % {"count": count} for name, count in counts.items() if count or name == "recorded"]
    return f"{', '.join(parts)}."


def _parse_values(data) -> list[Any]:
    try:
        value = orjson.loads(data)
        return value if isinstance(value, list) else [value]
    except orjson.JSONDecodeError:
        pass
    values = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            values.append(orjson.loads(line))
        except orjson.JSONDecodeError as exc:
            raise Refused(_("Line %(number)s is not JSON. Nothing was stored.") % {"number": number}) from exc
    return values


def _unwrap_bodies(values, body) -> list[Any]:
    """The values, with each body of the API replaced by the list it holds."""
    entries = []
    for value in values:
        is_body = isinstance(value, dict) and value.keys() == {body} and isinstance(value[body], list)
        entries += value[body] if is_body else [value]
    return entries


def _format_path(error):
    return ".".join(map(str, error["loc"]))
