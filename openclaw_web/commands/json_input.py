"""What a command is told as JSON, in a file or from standard input: read whole and checked before any of it is used."""

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

from ..endpoints.schemas import Schema
from .groups import Outcome, WrongUse

MOST_BYTES = 64 * 1024 * 1024
LISTED = 20
T = TypeVar("T", bound=Schema)


def read_input(file: str | None) -> bytes:
    """What a file holds, or standard input for None and `-`. Raises WrongUse or Refused when it cannot be read."""
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
    """Each value of JSON, a JSON list or JSON lines. Raises Refused with what is wrong with which.

    `body` is the key under which the API takes such a list: an object that has nothing else stands for its list.
    """
    found, wrong = [], []
    for number, value in enumerate(_unwrapped(_values(data), body), 1):
        try:
            found.append(schema.model_validate(value))
        except ValidationError as exc:
            name = value.get("id") if isinstance(value, dict) else None
            wrong.append({"id": str(name or number), "reason": _why(exc)})
    if wrong:
        sentence = ngettext(
            "Nothing was stored: %(count)s entry is not valid.",
            "Nothing was stored: %(count)s entries are not valid.",
            len(wrong),
        )
        raise Refused(sentence % {"count": f"{len(wrong):,}"}, reasons=wrong[:LISTED])
    return found


def store_entries(
    entries: Sequence[Any], at_once: int, batch: Callable[[Sequence[Any]], Any], recorded: Callable[[int], str]
) -> Outcome:
    """Store entries, so many at once; `recorded` says in words how many are new.

    Raises Refused, which says what of the batches before it was stored.
    """
    counts = {"recorded": 0, "known": 0, "withheld": 0}
    for start in range(0, len(entries), at_once):
        try:
            stored = batch(entries[start : start + at_once])
        except Refused as exc:
            if not sum(counts.values()):
                raise
            words = {"sentence": exc.sentence, "before": _in_words(counts, recorded)}
            raise Refused(_("%(sentence)s Before it: %(before)s") % words, reasons=exc.reasons) from exc
        counts["recorded"] += len(stored.new)
        counts["known"] += len(stored.known)
        counts["withheld"] += stored.withheld
    return Outcome(counts, _in_words(counts, recorded))


def _in_words(counts, recorded):
    withheld = ngettext(
        "%(count)s withheld because somebody opted out",
        "%(count)s withheld because somebody opted out",
        counts["withheld"],
    )
    known = ngettext("%(count)s already known", "%(count)s already known", counts["known"])
    words = {"recorded": recorded(counts["recorded"]), "known": known, "withheld": withheld}
    said = [words[name] % {"count": count} for name, count in counts.items() if count or name == "recorded"]
    return f"{', '.join(said)}."


def _values(data) -> list[Any]:
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


def _unwrapped(values, body) -> list[Any]:
    """The values, with the list of each body of the API in its place."""
    found = []
    for value in values:
        is_body = isinstance(value, dict) and value.keys() == {body} and isinstance(value[body], list)
        found += value[body] if is_body else [value]
    return found


def _why(exc):
    """All that is wrong with a value, the fields that it lacks together."""
    errors = exc.errors(include_url=False, include_input=False)
    missing = [_field(error) for error in errors if error["type"] == "missing"]
    lacks = [_("missing: %(names)s") % {"names": ", ".join(missing)}] if missing else []
    others = [
        f"{_field(error)}: {error_responses.strip_error_prefix(error['msg'])}".removeprefix(": ")
        for error in errors
        if error["type"] != "missing"
    ]
    return "; ".join([*lacks, *others])


def _field(error):
    return ".".join(map(str, error["loc"]))
