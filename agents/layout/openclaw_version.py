"""The OpenClaw version of each home, and whether it is newer than tested versions.

It is the version that last wrote the home's configuration. Imports keep a row of `kv` for each home, by its path.
"""

import re
from pathlib import Path
from typing import NamedTuple

from openclaw_web.sqlite.json_columns import decode
from people.models.bookkeeping import KeyValue

from ..models import CollectorSource

NEWEST_CHECKED = "2026.9.6"  # the newest version of the tests' homes: docs/collectors.md, Versions
SCOPE = "openclaw_version"
# 2026.9.6, 2026.9.7-beta.1, 2026.1.24-1: the suffix of an early or repeated release is shown and not compared.
PATTERN = re.compile(r"v?((\d{4})\.(\d{1,2})(?:\.(\d{1,4}))?(?!\d)(?:[-+][0-9A-Za-z.-]{1,40})?)", re.ASCII)


class Release(NamedTuple):
    """Year, month and number of a version of OpenClaw."""

    year: int
    month: int
    number: int


class NewerHome(NamedTuple):
    """A home that an OpenClaw newer than the tested versions wrote.

    `since` is when this became known (milliseconds).
    """

    root: str
    version: str
    release: Release
    since: int


def parse(version: str) -> Release | None:
    """Return the release that a text begins with; None when it is no version."""
    match = PATTERN.match(version)
    release = Release(int(match[2]), int(match[3]), int(match[4] or 0)) if match else None
    return release if release and 1 <= release.month <= 12 else None


def note_version(root: Path, version: str) -> None:
    """Store the version that wrote a home; a text that is no version deletes it."""
    match = PATTERN.match(version) if parse(version) else None
    rows = KeyValue.objects.filter(scope=SCOPE, key=str(root))
    noted = rows.decoded(str).get(str(root))
    if match and match[1] != noted:
        KeyValue.objects.put(SCOPE, str(root), match[1])
    elif noted and not match:
        rows.delete()


def find_newer_homes() -> list[NewerHome]:
    """Return homes with agents here that a newer OpenClaw wrote, the newest version first."""
    rows = KeyValue.objects.filter(scope=SCOPE).values_list("key", "value_json", "updated_at")
    newest = parse(NEWEST_CHECKED)
    newer = [
        NewerHome(root, version, release, since)
        for root, text, since in rows
        if (release := parse(version := decode(text, str))) and newest and release > newest
    ]
    if not newer:
        return []
    agents = CollectorSource.objects.filter(kind=CollectorSource.Kind.AGENT, root__in=[home.root for home in newer])
    roots = set(agents.values_list("root", flat=True))
    return sorted((home for home in newer if home.root in roots), key=lambda home: home.release, reverse=True)
