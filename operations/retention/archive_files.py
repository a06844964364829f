"""Archives of sessions: JSON Lines in a zstd file, verified before they are published.

The first line names the agent and the session; then come the contents of artifacts, then the rows; the last line has
the hashes. A manifest beside the file is for people and other programs.
"""

import base64
import binascii
import hashlib
import io
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import zstandard
from django.conf import settings
from django.utils.translation import gettext as _

from artifacts import handles
from artifacts.models import Artifact
from artifacts.store import blobs, layout
from ledger import rules
from ledger.models import TranscriptEvent
from ledger.transcripts import session_rows
from ledger.transcripts.row_checks import is_session_id
from ledger.transcripts.trimming import parse_stashed
from openclaw_web import reasons
from openclaw_web.disk.drafts import sync_folder
from openclaw_web.errors import Refused

SCHEMA = "openclaw-web.archive.v1"
MANIFEST_SCHEMA = "openclaw-web.archive-manifest.v1"
LEVEL = 6
LINE = WINDOW = 128 * 1024 * 1024
PART = 4 * 1024 * 1024  # bytes of a content on one line
SUFFIX, MANIFEST_SUFFIX = ".jsonl.zst", ".manifest.json"
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class WrongArchive(Refused):
    """A file that is not an archive, or a damaged archive."""


@dataclass(slots=True)
class Summary:
    """The content of an archive in numbers and hashes.

    `rows_sha256` is the digest of `ledger.transcripts.session_rows`.
    """

    agent: str
    session: str
    tables: Counter[str] = field(default_factory=Counter)
    contents: int = 0
    rows_sha256: str = ""
    sha256: str = ""  # of the lines before the last one
    state: tuple[int, int] = field(
        default=(0, 0), compare=False
    )  # after reading: the last activity and the number of records
    rules: int = field(default=rules.VERSION, compare=False)  # by which the session was read

    def as_json(self) -> dict[str, Any]:
        """The facts of the last line and of the manifest."""
        return {
            "tables": dict(sorted(self.tables.items())),
            "contents": self.contents,
            "rows_sha256": self.rows_sha256,
            "lines_sha256": self.sha256,
        }


def write_archive(path: Path, db: str, session_id: str) -> Summary:
    """Write a session into a new file and sync it.

    Raises NoSuchArtifact or DamagedArtifact for a lost output.
    """
    summary = Summary(db.removeprefix("agent_"), session_id)
    lines, rows = hashlib.sha256(), hashlib.sha256()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).stream_writer(file, closefd=False)

        def add(line):
            lines.update(line)
            packer.write(line)

        head = {"schema": SCHEMA, "app_version": settings.VERSION, "agent": summary.agent, "session": session_id}
        add(_format_line(head))
        for line in _read_contents(db, session_id, summary):
            add(line)
        for table, line in session_rows.read_row_lines(db, session_id):
            summary.tables[table] += 1
            rows.update(session_rows.strip_row_id(table, line))
            add(line)
        summary.sha256, summary.rows_sha256 = lines.hexdigest(), rows.hexdigest()
        packer.write(_format_line({"end": True, **summary.as_json()}))
        packer.close()
        file.flush()
        os.fsync(file.fileno())
    return summary


def publish_archive(draft: Path, out: Path, summary: Summary, *, last_activity_at: int, month: str) -> Path:
    """Publish a verified file under its name, with a manifest; returns its path.

    The same content gets the same name. `last_activity_at` is in milliseconds, `month` is `YYYY-MM`.
    """
    folder = out / summary.agent / month
    for subfolder in (out, out / summary.agent, folder):
        subfolder.mkdir(mode=0o700, exist_ok=True)
    name = (
        summary.session
        if PLAIN_NAME.fullmatch(summary.session)
        else hashlib.sha256(summary.session.encode()).hexdigest()[:32]
    )
    stem = f"{name}.{summary.rows_sha256[:12]}"
    target = folder / (stem + SUFFIX)
    manifest = {
        "schema": MANIFEST_SCHEMA,
        "file": target.name,
        "bytes": draft.stat().st_size,
        "sha256": file_sha256(draft),
        "agent": summary.agent,
        "session": summary.session,
        "last_activity_at": last_activity_at,
        **summary.as_json(),
    }
    manifest_file = draft.with_name("manifest")
    with os.fdopen(os.open(manifest_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(orjson.dumps(manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        file.flush()
        os.fsync(file.fileno())
    manifest_file.replace(folder / (stem + MANIFEST_SUFFIX))
    draft.replace(target)
    for subfolder in (folder, out / summary.agent, out):
        sync_folder(subfolder)
    return target


@dataclass(slots=True)
class Reader:
    """An open archive: `lines` reads its other lines and checks them all."""

    summary: Summary
    _file: Any
    _digest: Any

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield contents, then rows, as dictionaries; content lines have `content`, and bytes in `data`.

        Raises WrongArchive, after the last line at the latest, when a number or hash differs from the last line.
        """
        summary, rows, content = self.summary, hashlib.sha256(), _Content()
        while True:
            line, entry = _read_line(self._file)
            if entry.get("end"):
                break
            self._digest.update(line)
            if "content" in entry:
                entry["data"] = content.add(entry)
                summary.contents += entry["part"] == 0
            elif entry.get("table") in session_rows.TABLES_BY_NAME and content.is_whole:
                rows.update(session_rows.strip_row_id(entry["table"], line))
                summary.tables[entry["table"]] += 1
            else:
                raise _build_damage_error()
            yield entry
        summary.sha256, summary.rows_sha256 = self._digest.hexdigest(), rows.hexdigest()
        is_right = content.is_whole and all(entry.get(name) == value for name, value in summary.as_json().items())
        if not is_right or _read_rest(self._file):
            raise _build_damage_error()


@dataclass(slots=True)
class _Content:
    """Assembles a content from its parts and checks its hash."""

    handle: str = ""
    missing_parts: int = 0
    digest: Any = None

    @property
    def is_whole(self):
        return not self.missing_parts

    def add(self, entry):
        part, part_count = entry.get("part"), entry.get("of")
        if type(part) is not int or type(part_count) is not int or not 0 <= part < part_count:
            raise _build_damage_error()
        if part == 0:
            if self.missing_parts:
                raise _build_damage_error()
            self.handle, self.missing_parts, self.digest = entry["content"], part_count, hashlib.sha256()
        if entry["content"] != self.handle or part != part_count - self.missing_parts:
            raise _build_damage_error()
        data = _decode_data(entry)
        self.digest.update(data)
        self.missing_parts -= 1
        if not self.missing_parts and handles.from_sha256(self.digest.hexdigest()) != self.handle:
            raise _build_damage_error()
        return data


@contextmanager
def open_archive(path: Path) -> Iterator[Reader]:
    """Open an archive for reading. Raises WrongArchive when the file is none."""
    try:
        with _open_plain_file(path) as raw:
            unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW)
            file = io.BufferedReader(unpacker.stream_reader(raw))  # type: ignore[arg-type]
            line, head = _read_line(file)
            is_ours = head.get("schema") == SCHEMA and isinstance(head.get("agent"), str)
            if not (is_ours and is_session_id(head.get("session"))):
                raise WrongArchive(_("%(path)s is not an archive of this version.") % {"path": format_path(path)})
            yield Reader(Summary(head["agent"], head["session"]), file, hashlib.sha256(line))
    except (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError) as exc:
        words = {"path": format_path(path), "reason": reasons.describe_os_error(exc)}
        raise WrongArchive(_("%(path)s cannot be read: %(reason)s.") % words) from exc


def _open_plain_file(path):
    """Open a file that is not a link or a device. Raises WrongArchive."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise WrongArchive(_("%(path)s is not a plain file.") % {"path": format_path(path)})
    return os.fdopen(os.open(path, READ), "rb")


def verify_archive(path: Path) -> Summary:
    """Read an archive completely and compare it with its manifest; returns its summary.

    Raises WrongArchive, and WrongRow for a row that could not be restored.
    """
    with open_archive(path) as archive:
        summary = archive.summary
        for entry in archive.lines():
            if "table" in entry:
                session_rows.check_row(summary.session, entry["table"], entry.get("row"))
            if entry.get("table") == "sessions":
                summary.state = entry["row"]["last_activity_at"], entry["row"]["record_count"]
                summary.rules = entry["row"].get("rules", rules.OLDER)
    if summary.tables["sessions"] != 1:
        raise _build_damage_error()
    manifest_file = path.with_name(path.name.removesuffix(SUFFIX) + MANIFEST_SUFFIX)
    if manifest_file != path and manifest_file.is_file():
        try:
            manifest = orjson.loads(manifest_file.read_bytes())
        except orjson.JSONDecodeError as exc:
            raise _build_damage_error() from exc
        if not isinstance(manifest, dict) or manifest.get("sha256") != file_sha256(path):
            raise WrongArchive(_("%(path)s does not match its manifest.") % {"path": format_path(path)})
    return summary


def format_path(path: Path) -> str:
    """A path for people and receipts: names need not be UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def file_sha256(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_contents(db, session_id, summary):
    """Each content that the session's rows refer to, complete, as lines."""
    seen = set()
    for handle, size in _find_references(db, session_id):
        if handle in seen:
            continue
        seen.add(handle)
        summary.contents += 1
        sha256 = handles.parse(handle)
        stored_meta = blobs.read_meta(layout.get_root(), sha256) or {}
        entry = {"content": handle, "of": max(1, -(-size // PART))}
        entry |= {
            name: stored_meta[name] for name in ("kind", "meta", "createdAt", "compression") if name in stored_meta
        }
        with blobs.open_blob(layout.get_root(), sha256) as blob:
            for number, data in enumerate(_split_parts(blob.chunks(expected=size))):
                yield _format_line({**entry, "part": number, **_encode_data(data)})


def _find_references(db, session_id):
    yield from Artifact.objects.using(db).filter(session_id=session_id).order_by("id").values_list("handle", "bytes")
    rows = TranscriptEvent.objects.using(db).filter(session_id=session_id, trim_json__contains='"stashed"')
    for trim_json in rows.order_by("seq").values_list("trim_json", flat=True):
        for note in parse_stashed(trim_json):
            yield note.handle, note.bytes


def _split_parts(chunks):
    """Join chunks to parts of PART bytes; at least one part."""
    waiting, is_first = b"", True
    for chunk in chunks:
        waiting += chunk
        while len(waiting) >= PART:
            yield waiting[:PART]
            waiting, is_first = waiting[PART:], False
    if waiting or is_first:
        yield waiting


def _encode_data(data):
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _decode_data(entry):
    try:
        return entry["text"].encode() if "text" in entry else base64.b64decode(entry["base64"], validate=True)
    except (KeyError, TypeError, AttributeError, binascii.Error) as exc:
        raise _build_damage_error() from exc


def _format_line(entry):
    return orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE)


def _read_line(file):
    try:
        line = file.readline(LINE)
        entry = orjson.loads(line) if line.endswith(b"\n") else None
    except (zstandard.ZstdError, orjson.JSONDecodeError) as exc:
        raise _build_damage_error() from exc
    if not isinstance(entry, dict):
        raise _build_damage_error()
    return line, entry


def _read_rest(file):
    try:
        return file.read(1)
    except zstandard.ZstdError:
        return b"?"


def _build_damage_error():
    return WrongArchive(_("The archive is damaged: its content does not match its own description."))
