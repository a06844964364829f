"""Names of files beside transcripts: a hint what each is, which its content may correct. No Django."""

import re
from dataclasses import dataclass

from ledger.collectors.session_index import SESSION_ID

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
LIVE, RESET, DELETED, BACKUP, IMPORTED = "live", "reset", "deleted", "bak", "imported"
# <stem>.jsonl, then what became of it; OpenClaw packs some of those.
TRANSCRIPT = re.compile(
    r"(?P<stem>.+?)\.jsonl(?:\.(?P<suffix>(?P<state>deleted|reset|bak|imported)(?=[.-]|$).*|.+?))??(?P<packed>\.zst)?",
    re.IGNORECASE | re.DOTALL,
)
# Names that OpenClaw gives and that are transcripts whatever they hold: damaged ones are read as far as they go.
GIVEN = re.compile(
    rf"(?:[0-9T.:Z-]+_|(?:.+\.)?)(?P<id>{UUID})(?:-topic-.+)?|(?P<boot>boot-[0-9_-]+-[0-9a-f]+)",
    re.IGNORECASE,
)
TOPIC = re.compile(r"(?P<id>.+?)-topic-.+", re.IGNORECASE)
TRAJECTORY = re.compile(r"(?P<id>.+)\.trajectory\.jsonl", re.IGNORECASE)
CHECKPOINT = re.compile(r".+\.checkpoint\..*jsonl(?:\..*)?", re.IGNORECASE)
# In this order; the first that fits is it. Values of SkippedSource.Reason.
BESIDE = (
    ("trajectory", re.compile(r".+\.trajectory(?:-path)?\.jsonl?(?:\..*)?", re.IGNORECASE)),
    ("lock", re.compile(r".*(?:\.lock|\.pid|[-.](?:re)?(?:index|generation|writer)-(?:lock|writer)\.sqlite.*)", re.I)),
    ("temporary", re.compile(r".*(?:\.tmp|\.tmp[-.](?!.*jsonl)[^/]*|~|\.sw[a-p]|\.part)", re.IGNORECASE)),
    ("index", re.compile(r"(?:.*[.-])?sessions\.json(?:[.-].*)?", re.IGNORECASE)),
    ("database", re.compile(r".+\.(?:sqlite|sqlite3|db)(?:[-.].*)?", re.IGNORECASE)),
)
# A name without `.jsonl` that may be that of a secret; the ids of sessions are words people choose.
SECRET = re.compile(
    r"auth|token|secret|credential|passw|identit|pairing|approval|api-?key|oauth|vapid|\.pem|\.key", re.I
)


@dataclass(frozen=True, slots=True)
class NameHint:
    """What a name says of a transcript: state, and session id where the name has one.

    `is_given`: OpenClaw gives such names to transcripts alone.
    """

    state: str
    session_id: str = ""
    is_given: bool = False
    is_packed: bool = False
    live_name: str = ""  # what the file was called while it was written to


def find_skip_reason(name: str) -> str:
    """Why a file beside transcripts is none, by its name alone; empty for what may be one."""
    for reason, pattern in BESIDE:
        if pattern.fullmatch(name):
            return reason
    if CHECKPOINT.fullmatch(name):
        return "checkpoint"
    return "secret" if ".jsonl" not in name.lower() and SECRET.search(name) else ""


def parse_name(name: str) -> NameHint:
    """What the name of a possible transcript says; a name of another kind is that of a copy somebody made."""
    match = TRANSCRIPT.fullmatch(name)
    if match is None:
        return NameHint(BACKUP)
    state = (match["state"] or (BACKUP if match["suffix"] else LIVE)).lower()
    about = {"is_packed": bool(match["packed"]), "live_name": f"{match['stem']}.jsonl"}
    stem = match["stem"]
    if given := GIVEN.fullmatch(stem):
        return NameHint(state, given["id"] or given["boot"], is_given=True, **about)
    if topic := TOPIC.fullmatch(stem):
        stem = topic["id"]
    return NameHint(state, stem if SESSION_ID.fullmatch(stem) else "", **about)
