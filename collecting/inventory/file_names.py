"""Parses file names in session folders: hints that the content may correct. No Django."""

import re
import sys
from dataclasses import dataclass

from ledger.collectors.session_index import SESSION_ID

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
LIVE, RESET, DELETED, BACKUP, IMPORTED = "live", "reset", "deleted", "bak", "imported"
# <stem>.jsonl, then its state; OpenClaw packs some of these files.
TRANSCRIPT = re.compile(
    r"(?P<stem>.+?)\.jsonl(?:\.(?P<suffix>(?P<state>deleted|reset|bak|imported)(?=[.-]|$).*|.+?))??(?P<packed>\.zst)?",
    re.IGNORECASE | re.DOTALL,
)
# Names that OpenClaw gives only to transcripts: damaged ones are read as far as possible.
GIVEN = re.compile(
    rf"(?:[0-9T.:Z-]+_|(?:.+\.)?)(?P<id>{UUID})(?:-topic-.+)?|(?P<boot>boot-[0-9_-]+-[0-9a-f]+)",
    re.IGNORECASE,
)
TOPIC = re.compile(r"(?P<id>.+?)-topic-.+", re.IGNORECASE)
TRAJECTORY = re.compile(r"(?P<id>.+)\.trajectory\.jsonl", re.IGNORECASE)
CHECKPOINT = re.compile(r".+\.checkpoint\..*jsonl(?:\..*)?", re.IGNORECASE)
# Values of SkippedSource.Reason with their patterns; the first match counts.
BESIDE = (
    ("trajectory", re.compile(r".+\.trajectory(?:-path)?\.jsonl?(?:\..*)?", re.IGNORECASE)),
    ("lock", re.compile(r".*(?:\.lock|\.pid|[-.](?:re)?(?:index|generation|writer)-(?:lock|writer)\.sqlite.*)", re.I)),
    ("temporary", re.compile(r".*(?:\.tmp|\.tmp[-.](?!.*jsonl)[^/]*|~|\.sw[a-p]|\.part)", re.IGNORECASE)),
    ("index", re.compile(r"(?:.*[.-])?sessions\.json(?:[.-].*)?", re.IGNORECASE)),
    ("database", re.compile(r".+\.(?:sqlite|sqlite3|db)(?:[-.].*)?", re.IGNORECASE)),
)
# Names that may be those of secrets; only names without `.jsonl`, because people choose session ids.
SECRET = re.compile(
    r"auth|token|secret|credential|passw|identit|pairing|approval|api-?key|oauth|vapid|\.pem|\.key", re.I
)


@dataclass(frozen=True, slots=True)
class NameHint:
    """The state and the session id in the name of a transcript.

    `is_given`: OpenClaw gives such names only to transcripts.
    """

    state: str
    session_id: str = ""
    is_given: bool = False
    is_packed: bool = False
    is_matched: bool = False  # the name has the shape of a transcript's


def find_skip_reason(name: str) -> str:
    """The reason why a name is not a transcript's; empty when it may be one."""
    for reason, pattern in BESIDE:
        if pattern.fullmatch(name):
            return reason
    if CHECKPOINT.fullmatch(name):
        return "checkpoint"
    return "secret" if ".jsonl" not in name.lower() and SECRET.search(name) else ""


def parse_name(name: str) -> NameHint:
    """Parse the name of a possible transcript; other names count as copies."""
    match = TRANSCRIPT.fullmatch(name)
    if match is None:
        return NameHint(BACKUP)
    state = sys.intern((match["state"] or (BACKUP if match["suffix"] else LIVE)).lower())
    flags = {"is_packed": bool(match["packed"]), "is_matched": True}
    stem = match["stem"]
    if given := GIVEN.fullmatch(stem):
        return NameHint(state, given["id"] or given["boot"], is_given=True, **flags)
    if topic := TOPIC.fullmatch(stem):
        stem = topic["id"]
    return NameHint(state, stem if SESSION_ID.fullmatch(stem) else "", **flags)
