"""An archive: one session as lines of JSON in one zstd file. Written whole, read back, and only then given its name.

The first line says whose session it is; then come the contents of its artifacts, then its rows; the last line has the
hashes. Beside it lies a manifest, for people and other programs.
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
    """A file that is no archive, or a damaged one."""


@dataclass(slots=True)
class Summary:
    """What an archive holds. `rows_sha256` is the digest of `ledger.transcripts.session_rows`."""

    agent: str
    session: str
    tables: Counter[str] = field(default_factory=Counter)
    contents: int = 0
    rows_sha256: str = ""
    sha256: str = ""  # of the lines before the last one
    state: tuple[int, int] = field(default=(0, 0), compare=False)  # once read: the last activity, and how many records

    def as_json(self) -> dict[str, Any]:
        """The facts of the last line and of the manifest."""
        return {
            "tables": dict(sorted(self.tables.items())),
            "contents": self.contents,
            "rows_sha256": self.rows_sha256,
            "lines_sha256": self.sha256,
        }


def write_archive(path: Path, db: str, session_id: str) -> Summary:
    """Write a session into a new file and put it on the disk. Raises NoSuchArtifact or Damaged for a lost output."""
    summary = Summary(db.removeprefix("agent_"), session_id)
    lines, rows = hashlib.sha256(), hashlib.sha256()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).stream_writer(file, closefd=False)

        def add(line):
            lines.update(line)
            packer.write(line)

        head = {"schema": SCHEMA, "app_version": settings.VERSION, "agent": summary.agent, "session": session_id}
        add(_line(head))
        for line in _contents(db, session_id, summary):
            add(line)
        for table, line in session_rows.read_row_lines(db, session_id):
            summary.tables[table] += 1
            rows.update(session_rows.strip_row_id(table, line))
            add(line)
        summary.sha256, summary.rows_sha256 = lines.hexdigest(), rows.hexdigest()
        packer.write(_line({"end": True, **summary.as_json()}))
        packer.close()
        file.flush()
        os.fsync(file.fileno())
    return summary


def publish_archive(draft: Path, out: Path, summary: Summary, *, last_activity_at: int, month: str) -> Path:
    """Give a file that was read back its name, with a manifest beside it; the path. The same content, the same name."""
    folder = out / summary.agent / month
    for made in (out, out / summary.agent, folder):
        made.mkdir(mode=0o700, exist_ok=True)
    name = summary.session if PLAIN_NAME.fullmatch(summary.session) else _sha256(summary.session)[:32]
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
    beside = draft.with_name("manifest")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(orjson.dumps(manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(folder / (stem + MANIFEST_SUFFIX))
    draft.replace(target)
    for made in (folder, out / summary.agent, out):
        sync_folder(made)
    return target


@dataclass(slots=True)
class Reader:
    """An opened archive: its first line is read, `lines` gives the others and checks everything by the end."""

    summary: Summary
    _file: Any
    _digest: Any

    def lines(self) -> Iterator[dict[str, Any]]:
        """Contents, then rows, each a dictionary; content lines come as `content` and bytes in `data`.

        Raises Wrong, at the latest after the last line when a number or hash differs from what the last line says.
        """
        found, rows, content = self.summary, hashlib.sha256(), _Content()
        while True:
            line, told = _read(self._file)
            if told.get("end"):
                break
            self._digest.update(line)
            if "content" in told:
                told["data"] = content.add(told)
                found.contents += told["part"] == 0
            elif told.get("table") in session_rows.TABLES_BY_NAME and content.is_whole:
                rows.update(session_rows.strip_row_id(told["table"], line))
                found.tables[told["table"]] += 1
            else:
                raise _damaged()
            yield told
        found.sha256, found.rows_sha256 = self._digest.hexdigest(), rows.hexdigest()
        is_right = content.is_whole and all(told.get(name) == value for name, value in found.as_json().items())
        if not is_right or _rest(self._file):
            raise _damaged()


@dataclass(slots=True)
class _Content:
    """The parts of a content as they come; each content is hashed while it passes."""

    handle: str = ""
    left: int = 0
    digest: Any = None

    @property
    def is_whole(self):
        return not self.left

    def add(self, told):
        part, of = told.get("part"), told.get("of")
        if type(part) is not int or type(of) is not int or not 0 <= part < of:
            raise _damaged()
        if part == 0:
            if self.left:
                raise _damaged()
            self.handle, self.left, self.digest = told["content"], of, hashlib.sha256()
        if told["content"] != self.handle or part != of - self.left:
            raise _damaged()
        data = _bytes_of(told)
        self.digest.update(data)
        self.left -= 1
        if not self.left and handles.from_sha256(self.digest.hexdigest()) != self.handle:
            raise _damaged()
        return data


@contextmanager
def open_archive(path: Path) -> Iterator[Reader]:
    """An archive, opened for reading. Raises Wrong when it is none."""
    try:
        with _plain(path) as raw:
            unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW)
            file = io.BufferedReader(unpacker.stream_reader(raw))  # type: ignore[arg-type]
            line, head = _read(file)
            is_ours = head.get("schema") == SCHEMA and isinstance(head.get("agent"), str)
            if not (is_ours and is_session_id(head.get("session"))):
                raise WrongArchive(_("%(path)s is not an archive of this version.") % {"path": format_path(path)})
            yield Reader(Summary(head["agent"], head["session"]), file, hashlib.sha256(line))
    except (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError) as exc:
        told = {"path": format_path(path), "reason": reasons.describe_os_error(exc)}
        raise WrongArchive(_("%(path)s cannot be read: %(reason)s.") % told) from exc


def _plain(path):
    """A file, opened; neither a link nor a device. Raises Wrong."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise WrongArchive(_("%(path)s is not a plain file.") % {"path": format_path(path)})
    return os.fdopen(os.open(path, READ), "rb")


def verify_archive(path: Path) -> Summary:
    """Read an archive in full; what it holds. Where a manifest lies beside it, the two are compared.

    Raises Wrong, and WrongRow when it holds a row that could not be put back.
    """
    with open_archive(path) as archive:
        found = archive.summary
        for told in archive.lines():
            if "table" in told:
                session_rows.check_row(found.session, told["table"], told.get("row"))
            if told.get("table") == "sessions":
                found.state = told["row"]["last_activity_at"], told["row"]["record_count"]
    if found.tables["sessions"] != 1:
        raise _damaged()
    beside = path.with_name(path.name.removesuffix(SUFFIX) + MANIFEST_SUFFIX)
    if beside != path and beside.is_file():
        try:
            manifest = orjson.loads(beside.read_bytes())
        except orjson.JSONDecodeError as exc:
            raise _damaged() from exc
        if not isinstance(manifest, dict) or manifest.get("sha256") != file_sha256(path):
            raise WrongArchive(_("%(path)s does not match its manifest.") % {"path": format_path(path)})
    return found


def format_path(path: Path) -> str:
    """A path as people and receipts can have it: names need not be UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def file_sha256(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _contents(db, session_id, summary):
    """Each content that the session's rows refer to, whole, as lines."""
    seen = set()
    for handle, size in _referred(db, session_id):
        if handle in seen:
            continue
        seen.add(handle)
        summary.contents += 1
        sha256 = handles.parse(handle)
        about = blobs.read_meta(layout.get_root(), sha256) or {}
        told = {"content": handle, "of": max(1, -(-size // PART))}
        told |= {name: about[name] for name in ("kind", "meta", "createdAt", "compression") if name in about}
        with blobs.open_blob(layout.get_root(), sha256) as blob:
            for number, data in enumerate(_parts(blob.chunks(expected=size))):
                yield _line({**told, "part": number, **_as_text(data)})


def _referred(db, session_id):
    yield from Artifact.objects.using(db).filter(session_id=session_id).order_by("id").values_list("handle", "bytes")
    rows = TranscriptEvent.objects.using(db).filter(session_id=session_id, trim_json__contains='"stashed"')
    for trim_json in rows.order_by("seq").values_list("trim_json", flat=True):
        for note in parse_stashed(trim_json):
            yield note.handle, note.bytes


def _parts(chunks):
    """Chunks put together to parts of PART bytes; at least one."""
    waiting, is_first = b"", True
    for chunk in chunks:
        waiting += chunk
        while len(waiting) >= PART:
            yield waiting[:PART]
            waiting, is_first = waiting[PART:], False
    if waiting or is_first:
        yield waiting


def _as_text(data):
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _bytes_of(told):
    try:
        return told["text"].encode() if "text" in told else base64.b64decode(told["base64"], validate=True)
    except (KeyError, TypeError, AttributeError, binascii.Error) as exc:
        raise _damaged() from exc


def _line(told):
    return orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE)


def _read(file):
    try:
        line = file.readline(LINE)
        told = orjson.loads(line) if line.endswith(b"\n") else None
    except (zstandard.ZstdError, orjson.JSONDecodeError) as exc:
        raise _damaged() from exc
    if not isinstance(told, dict):
        raise _damaged()
    return line, told


def _rest(file):
    try:
        return file.read(1)
    except zstandard.ZstdError:
        return b"?"


def _damaged():
    return WrongArchive(_("The archive is damaged: its content does not match its own description."))


def _sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()
