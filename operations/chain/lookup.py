"""Finds a row of an export by its SHA-256, its text, or words of it."""

import hashlib
import re
import time
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.urls import reverse

from datasets.exports.row_files import find_row_files, read_rows
from datasets.models import DatasetExport
from openclaw_web.errors import Refused
from search import find, query

SHA256 = re.compile(r"[0-9a-f]{64}")
SECONDS = 3.0  # for the files of all exports, the newest first
MOST_EXPORTS, MOST_HITS, WORDS = 200, 10, 12


@dataclass(frozen=True, slots=True)
class Place:
    """A row, or a sample with its words: the address of its chain."""

    title: str
    href: str


def find_places(text: str) -> tuple[list[Place], bool]:
    """Return the rows that are this text or have this hash, else samples with its words; and whether all were read."""
    text = text.strip()
    wanted_hash = text.lower() if SHA256.fullmatch(text.lower()) else hashlib.sha256(text.encode()).hexdigest()
    end, is_whole = time.monotonic() + SECONDS, True
    for export in DatasetExport.objects.filter(state="ready").order_by("-exported_at", "-id")[:MOST_EXPORTS]:
        for side, file in find_row_files(export).items():
            path = Path(settings.HOME_DIR) / export.file_path / file["name"]
            try:
                for number, _offset, line in read_rows(path):
                    if hashlib.sha256(line.rstrip(b"\r\n")).hexdigest() == wanted_hash:
                        address = reverse("operations:chain", args=["row", f"{export.id}:{side}:{number + 1}"])
                        return [Place(f"{export.export_name}, {side} {number + 1}", address)], True
                    if time.monotonic() > end:
                        is_whole = False
                        break
            except (OSError, Refused):  # removed, or changed since: `verify_export` names it
                continue
    return ([] if SHA256.fullmatch(text.lower()) else _find_samples(text)), is_whole


def _find_samples(text):
    phrase = " ".join(re.findall(r"\w+", text)[:WORDS])
    hits = find.search(query.parse(f"{phrase} kind:sample"), size=MOST_HITS).hits if phrase else []
    return [Place(hit.item.title, reverse("operations:chain", args=["sample", hit.item.key])) for hit in hits]
