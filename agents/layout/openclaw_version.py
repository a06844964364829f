"""The version of OpenClaw that last wrote the configuration of a home, and whether this site was checked with it.

A row of `kv` for each home, by its path, brought up to date by imports.
"""

import re
from pathlib import Path
from typing import NamedTuple

from openclaw_web.sqlite.json_columns import decode
from people.models.bookkeeping import KeyValue

from ..models import CollectorSource

NEWEST_CHECKED = "2026.9.6"  # of the homes that the tests read: docs/collectors.md, Versions
SCOPE = "openclaw_version"
# 2026.9.6, 2026.9.7-beta.1, 2026.1.24-1: the suffix of an early or repeated release is shown and not compared.
PATTERN = re.compile(r"v?((\d{4})\.(\d{1,2})(?:\.(\d{1,4}))?(?!\d)(?:[-+][0-9A-Za-z.-]{1,40})?)", re.ASCII)


class Release(NamedTuple):
    """Year, month and number of a version of OpenClaw."""

    year: int
    month: int
    number: int


class NewerHome(NamedTuple):
    """A home that a newer OpenClaw wrote than this site was checked with: since when that is known."""

    root: str
    version: str
    release: Release
    since: int


def parse(version: str) -> Release | None:
    """The release that a text begins with; None for what is no version."""
    match = PATTERN.match(version)
    release = Release(int(match[2]), int(match[3]), int(match[4] or 0)) if match else None
    return release if release and 1 <= release.month <= 12 else None


def note_version(root: Path, version: str) -> None:
    """Note the version that wrote a home; what is no version takes back what was noted."""
    match = PATTERN.match(version) if parse(version) else None
    rows = KeyValue.objects.filter(scope=SCOPE, key=str(root))
    noted = rows.decoded(str).get(str(root))
    if match and match[1] != noted:
        KeyValue.objects.put(SCOPE, str(root), match[1])
    elif noted and not match:
        rows.delete()


def find_newer_homes() -> list[NewerHome]:
    """The homes with agents here that a newer OpenClaw wrote, the newest version first."""
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
