"""The format of a backup file: its paths, its manifest and list of files, and how it is written.

It is a tar archive in separately readable zstd parts. Every database is a part; then come all other files, the list of
them (`files.jsonl`), and the manifest (`manifest.json`). The last 20 bytes are a frame that zstd skips: it says where
the manifest begins. `tar --zstd -x` reads such an archive as any other.
"""

import hashlib
import re
import struct
import tarfile
from collections.abc import Iterable
from functools import partial
from typing import BinaryIO

import zstandard
from django.utils.translation import gettext as _

from artifacts.store import layout
from openclaw_web.errors import Refused

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


def get_blob_hash(path: str) -> str | None:
    """The expected sha256 of a blob's content; None for any other file."""
    name = path.rpartition("/")[2]
    return name[:64] if path.startswith("artifacts/blobs/") else None


MANIFEST, LIST = "manifest.json", "files.jsonl"
MAX_BYTES = 16 * 1024 * 1024
MOST_LINE = 1_000


def misplaced(path: str) -> Refused:
    """The refusal of a path that no backup may hold.

    Such a path is absolute, contains `..`, or belongs to a file that is not backed up.
    """
    return Refused(
        _("The archive contains a file that does not belong in a home: %(path)s") % {"path": repr(path)[:120]}
    )


LEVEL, PACKED_LEVEL = 3, -5  # what is compressed already gets no smaller
THREADS = 2
CHUNK = 1024 * 1024
BLOCK = tarfile.BLOCKSIZE
END = bytes(2 * BLOCK)
TRAILER = struct.Struct("<II4sQ")  # as zstd has it: a magic number and a length; ours: a word and an offset
SKIPPED, WORD = 0x184D2A50, b"OCWB"


class Writer:
    """Writes the members of a backup file in order.

    `sha256` is the hash of everything written so far.
    """

    def __init__(self, file: BinaryIO):
        self._file = file
        self._digest = hashlib.sha256()
        self._packed: zstandard.ZstdCompressionWriter | None = None
        create_packer = partial(zstandard.ZstdCompressor, threads=THREADS, write_checksum=True)
        self._packers = {level: create_packer(level=level) for level in (LEVEL, PACKED_LEVEL)}
        self.offset = 0

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def begin_part(self, *, is_packed: bool = False) -> int:
        """End the current part and begin another; returns its offset."""
        self.end_part()
        self._packed = self._packers[PACKED_LEVEL if is_packed else LEVEL].stream_writer(self, closefd=False)
        return self.offset

    def end_part(self) -> None:
        """End the current part, so that it can be read from the file."""
        if self._packed:
            self._packed.flush(zstandard.FLUSH_FRAME)
            self._packed = None
            self._file.flush()

    def add(self, name: str, size: int, chunks: Iterable[bytes], *, is_last: bool = False) -> str:
        """Add a member of `size` bytes; returns its sha256.

        Raises Refused when `chunks` have more or fewer bytes than `size`.
        """
        header = tarfile.TarInfo(name)
        header.size, header.mode = size, 0o600
        digest, written = hashlib.sha256(), 0
        if self._packed is None:
            raise RuntimeError("begin a part first")
        self._packed.write(header.tobuf(tarfile.GNU_FORMAT))
        for chunk in chunks:
            digest.update(chunk)
            written += len(chunk)
            self._packed.write(chunk)
        if written != size:
            raise Refused(_("%(path)s changed while it was being read. Try again.") % {"path": name})
        self._packed.write(bytes(-size % BLOCK) + (END if is_last else b""))
        return digest.hexdigest()

    def finish(self, manifest_offset: int) -> None:
        """End the last part and write the trailer, which holds the offset of the manifest."""
        self.end_part()
        self.write(TRAILER.pack(SKIPPED, TRAILER.size - 8, WORD, manifest_offset))

    def write(self, data: bytes) -> int:
        """Write packed bytes; the packer calls this."""
        self._digest.update(data)
        self._file.write(data)
        self.offset += len(data)
        return len(data)


def read_chunks(file: BinaryIO) -> Iterable[bytes]:
    """Yield the content of a file in chunks."""
    while data := file.read(CHUNK):
        yield data
