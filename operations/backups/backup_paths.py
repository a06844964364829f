"""Paths that a backup may hold, by role, and tables whose rows it leaves out."""

import re

from artifacts.store import layout

GLOBAL, AGENT, CONFIG, ARTIFACT, EXPORT, ARCHIVE = "global", "agent", "config", "artifact", "export", "archive"
GLOBAL_PATH = "state/openclaw.sqlite"
CONFIG_PATH = "state/config.json"
# An archive can put a file nowhere else. A folder that is to be kept as well gets a line here and in `creating`.
PATHS = {
    GLOBAL: re.compile(re.escape(GLOBAL_PATH)),
    AGENT: re.compile(r"agents/([a-z0-9][a-z0-9_-]{0,55})/agent/openclaw-agent\.sqlite"),
    CONFIG: re.compile(re.escape(CONFIG_PATH)),
    ARTIFACT: re.compile(
        r"artifacts/(?:blobs/sha256/(?P<a>[0-9a-f]{2})/(?P<b>[0-9a-f]{2})/(?P=a)(?P=b)[0-9a-f]{60}\.txt(?:\.gz)?"
        r"|meta/sha256/(?P<c>[0-9a-f]{2})/(?P<d>[0-9a-f]{2})/(?P=c)(?P=d)[0-9a-f]{60}\.json)"
    ),
    EXPORT: re.compile(
        r"export-rows/[0-9A-Z]{26}\.idx"
        r"|exports/(?:[0-9A-Z]{26}/[A-Za-z0-9_][A-Za-z0-9._-]{0,159}|conversations-[0-9]{4}-[0-9]{2}-[0-9]{2}\.jsonl)"
    ),
    ARCHIVE: re.compile(
        r"archive/[a-z0-9][a-z0-9_-]{0,55}/[0-9]{4}-[0-9]{2}/[A-Za-z0-9][A-Za-z0-9-]{0,63}\.[0-9a-f]{12}"
        r"\.(?:jsonl\.zst|manifest\.json)"
    ),
}
DATABASES = {GLOBAL, AGENT}
# Tables of the global file: sessions of browsers, sign-in links, responses that are stored for a day.
EMPTIED_TABLES = (
    *("django_session", "one_time_links", "idempotency_keys"),
    *("axes_accessattempt", "axes_accessattemptexpiration", "axes_accessfailurelog", "axes_accesslog"),
)
EMPTIED_COLUMNS = (("sign_ins", "session_key"),)
BACKUP_NAME = re.compile(r"openclaw-web-[0-9]{8}T[0-9]{6}Z(?:-[0-9]+)?\.tar\.zst")


def find_role(path: str) -> str | None:
    """The role of the file at `path`; None when no backup may hold it."""
    return next((role for role, pattern in PATHS.items() if pattern.fullmatch(path)), None)


def is_packed(path: str) -> bool:
    """Whether the content of the file is compressed."""
    return path.endswith((layout.GZIPPED, ".jsonl.zst"))


def build_sort_key(path: str) -> tuple[bool, str]:
    """The sort key of a path in a backup: compressed files come last.

    Keys have to grow, so no path occurs twice.
    """
    return is_packed(path), path


def get_blob_hash(path: str) -> str | None:
    """The expected sha256 of a blob's content; None for any other file."""
    name = path.rpartition("/")[2]
    return name[:64] if path.startswith("artifacts/blobs/") else None
