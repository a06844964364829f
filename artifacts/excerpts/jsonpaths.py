"""Finds the values of a JSON content that a JSONPath (RFC 9535) names.

The work is counted, and too much of it refused.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jsonpath
import orjson
from django.utils.translation import gettext as _
from jsonpath.exceptions import JSONPathError
from jsonpath.function_extensions import ExpressionType, FilterFunction

from openclaw_web.errors import Refused

from ..errors import WrongSelector
from . import patterns

MAX_PATH = 500
MAX_VISITS = 3_000_000  # values that one path may visit
# Work on long texts counts as that on many values: a path may write or search the same one for every value.
CHARS = 100  # of a text, for one value
STEPS = 500  # of an expression, for one value: in the worst case each of its instructions is one at every character
COMPILED = 200_000  # values, for an expression that a path or a value brings; some take most of a second
MAX_COMPILED = 20  # expressions that are remembered

Visit = Callable[[int], None]


class Matches:
    """A search whose `pieces()` are lines `$['a'][0]  <JSON>`.

    `matches` is known afterwards. Raises Refused for a path that is not valid.
    """

    def __init__(self, path: str):
        self.matches = 0
        self._remaining = MAX_VISITS
        if not path or len(path) > MAX_PATH:
            raise WrongSelector(_("A path must have 1 to %(most)s characters.") % {"most": MAX_PATH})
        try:
            self._path = _build_environment(self._visit).compile(path)
        except (JSONPathError, RecursionError, ValueError) as exc:
            raise WrongSelector(
                _("This is not a valid JSONPath (RFC 9535): %(reason)s") % {"reason": _first_line(exc)}
            ) from exc

    def pieces(self, content: bytes) -> Iterator[str]:
        """One line for each value, in the order of the document."""
        self.matches, self._remaining = 0, MAX_VISITS
        try:
            value = _parse(content, self._visit)
            for match in self._path.finditer(value):
                self.matches += 1
                line = f"{match.path}  {orjson.dumps(match.obj).decode()}\n"
                self._visit(len(line) // CHARS)
                yield line
        except (JSONPathError, RecursionError, orjson.JSONEncodeError) as exc:  # too deep
            raise Refused(_("This path cannot be evaluated here: %(reason)s") % {"reason": _first_line(exc)}) from exc

    def _visit(self, count):
        self._remaining -= count
        if self._remaining < 0:
            raise Refused(_("This path visits too many values. Make the path more specific, or use grep."))


def _parse(content, visit):
    try:
        return _wrap_containers(orjson.loads(content.removeprefix(b"\xef\xbb\xbf")), *_build_container_types(visit))
    except orjson.JSONDecodeError as exc:
        raise Refused(
            _("This artifact is not a single JSON document: %(reason)s. Use grep.") % {"reason": exc}
        ) from exc


def _wrap_containers(value, objects, arrays):
    if isinstance(value, dict):
        return objects((name, _wrap_containers(item, objects, arrays)) for name, item in value.items())
    if isinstance(value, list):
        return arrays(_wrap_containers(item, objects, arrays) for item in value)
    return value


def _build_container_types(visit):
    """Types of objects and arrays that report how many of their values are visited."""

    class Object(dict):
        def items(self):
            visit(len(self) + 1)
            return super().items()

        def __getitem__(self, name):
            visit(1)
            return super().__getitem__(name)

    class Array(list):
        def __iter__(self):
            visit(len(self) + 1)
            return super().__iter__()

        def __getitem__(self, place):
            visit(len(self) if isinstance(place, slice) else 1)
            return super().__getitem__(place)

    return Object, Array


def _build_environment(visit: Visit) -> jsonpath.JSONPathEnvironment:
    """An environment with RFC 9535 and nothing more, whose expressions take linear time."""
    environment = jsonpath.JSONPathEnvironment(strict=True)
    environment.function_extensions["match"] = _Expression("^(?:{})$", visit)
    environment.function_extensions["search"] = _Expression("{}", visit)
    return environment


class _Expression(FilterFunction):
    """RFC 9535's `match` and `search`; an expression that RE2 does not know matches nothing."""

    arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]
    return_type = ExpressionType.LOGICAL

    def __init__(self, template: str, visit: Visit):
        self._template, self._visit = template, visit
        self._compiled: dict[str, Any] = {}

    def __call__(self, value: object, pattern: object) -> bool:
        if not isinstance(value, str) or not isinstance(pattern, str):
            return False
        if pattern not in self._compiled:
            self._visit(COMPILED)
            if len(self._compiled) >= MAX_COMPILED:
                self._compiled.clear()
            self._compiled[pattern] = self._compile(pattern)
        compiled = self._compiled[pattern]
        if compiled is not None:
            self._visit(len(value) * max(compiled.programsize, STEPS // CHARS) // STEPS)
        return compiled is not None and compiled.search(value) is not None

    def _compile(self, pattern):
        try:
            patterns.compile_pattern(pattern)
            return patterns.compile_pattern(self._template.format(pattern))
        except Refused:
            return None


def _first_line(exc):
    return str(exc).splitlines()[0][:200] if str(exc) else type(exc).__name__
