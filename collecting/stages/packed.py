"""Collect transcripts that OpenClaw packed (`.jsonl.*.zst`) or moved away when it migrated (`.jsonl.imported-*`)."""

from typing import Any

from django.utils.translation import gettext as _

from agents.homes import NotReadable, open_regular
from ledger.collectors import packed
from ledger.outputs.stashing import Outputs
from ledger.transcripts import storing

SUFFIX = ".zst"


def store_packed(
    collection: Any, agent: Any, path: Any, about: storing.Transcript, report: Any, outputs: Outputs | None = None
) -> storing.Stored | None:
    """Store a packed transcript file; None, with a note in the report, when it is not read."""
    try:
        with open_regular(collection.home.root, path) as file:
            return storing.store_transcript(agent.db, about, packed.read_packed_lines(file), outputs=outputs)
    except NotReadable as exc:
        report.notes.append(_("%(file)s was not read: %(reason)s.") % {"file": path.name, "reason": exc})
        return None
