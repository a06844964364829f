"""Handles: the names of artifacts.

A handle is the only part of a big output that has to enter a prompt.
"""

import re
import shlex
from collections.abc import Iterator

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

PREFIX = "ocm_artifact:v1:sha256:"
LENGTH = len(PREFIX) + 64
_HEX = re.compile(r"[0-9a-f]{64}")
_HANDLE = re.compile(rf"{PREFIX}([0-9a-f]{{64}})")
_WITHIN = re.compile(rf"(?<![0-9A-Za-z_]){PREFIX}([0-9a-f]{{64}})(?![0-9A-Za-z_])")


class NotAHandle(Refused):
    """A text that is not exactly a handle."""

    status = 404


def parse(handle: object) -> str:
    """The 64 hexadecimal digits of a handle.

    Raises NotAHandle for anything else, look-alikes included.
    """
    match = _HANDLE.fullmatch(handle) if isinstance(handle, str) and len(handle) == LENGTH else None
    if match is None:
        raise NotAHandle(
            _(
                "This is not a handle: a handle is “%(prefix)s” followed by the 64 lowercase hexadecimal digits "
                "of a SHA-256."
            )
            % _SPELLED
        )
    return match[1]


def from_sha256(sha256: str) -> str:
    """The handle of the content whose SHA-256 is `sha256` (64 lower-case hexadecimal digits)."""
    if not _HEX.fullmatch(sha256):
        raise NotAHandle(_("A SHA-256 has 64 lowercase hexadecimal digits."))
    return PREFIX + sha256


def from_address(text: str) -> str:
    """The handle in an address: a whole one, or its 64 digits alone.

    Raises NotAHandle for all else.
    """
    handle = PREFIX + text.removeprefix(PREFIX)
    parse(handle)
    return handle


def build_fetch_command(handle: str, agent_id: str, options: str = "") -> str:
    """The command that shows a part of an agent's artifact.

    `options` are those of a selector.
    """
    agent = "" if agent_id == "main" else f"--agent {shlex.quote(agent_id)}"
    return " ".join(part for part in ("openclaw-web artifact fetch", handle, options, agent) if part)


def find_handles(text: str) -> Iterator[str]:
    """Every handle that a text mentions, in order, with repeats."""
    return (match[0] for match in _WITHIN.finditer(text))


_SPELLED = {"prefix": PREFIX}
