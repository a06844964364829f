"""Forged and damaged archives: each is refused with a sentence, and the home is unchanged."""

import hashlib
import io
import struct
import tarfile
import tracemalloc
from functools import partial
from operator import itemgetter

import orjson
import pytest
import zstandard

from openclaw_web.errors import Refused
from operations.backups import backup_format as contents
from operations.backups import backup_reader, manifest
from tests.operations.backups import backup_homes

pytestmark = pytest.mark.kill


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The bytes of a sound archive."""
    home = tmp_path_factory.mktemp("sound") / "home"
    backup_homes.fill(home, sessions=1, turns=2, artifacts=6)
    backup_homes.run_backup(home, "create", "--with-exports")
    return backup_homes.find_archives(home)[0].read_bytes()


class Parts:
    """The parts of an archive, which tests change and write again.

    Each part is a list of (header, content).
    """

    def __init__(self, data, folder):
        self.path = folder / "archive"
        self.path.write_bytes(data)
        with backup_reader.open_backup(self.path) as archive:
            self.manifest = orjson.loads(archive.manifest.as_json())
            self.databases = [(entry.path, b"".join(archive.database(entry))) for entry in archive.manifest.databases]
            self.files = [(entry.path, b"".join(chunks)) for entry, chunks in archive.files()]
            self.lines = [entry.model_dump() for entry in archive.read_file_list()]
        self.change_header = lambda header: None  # of the first file
        self.padding = b""

    def write(self):
        """Write the archive again with the current offsets, sizes and hashes."""
        out = io.BytesIO()
        for entry, (name, data) in zip(self.manifest["databases"], self.databases, strict=True):
            entry["offset"] = out.tell()
            out.write(compress(build_member(name, data)))
        files = self.manifest["files"]
        files["offset"] = out.tell()
        members = [
            build_member(name, data, self.change_header if not n else None) for n, (name, data) in enumerate(self.files)
        ]
        out.write(compress(b"".join(members) + self.padding))
        listed = b"".join(orjson.dumps(line) + b"\n" for line in self.lines)
        files |= {"list_offset": out.tell(), "list_bytes": len(listed), "list_sha256": sha256(listed)}
        out.write(compress(build_member("files.jsonl", listed)))
        offset = out.tell()
        out.write(compress(build_member("manifest.json", orjson.dumps(self.manifest)) + bytes(1024)))
        out.write(struct.pack("<II4sQ", 0x184D2A50, 12, b"OCWB", offset))
        self.path.write_bytes(out.getvalue())

    def rename(self, name):
        """Rename the first file everywhere."""
        self.files[0] = (name, self.files[0][1])
        self.lines[0]["path"] = name


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def build_member(name, data, change=None):
    header = tarfile.TarInfo(name)
    header.size = len(data)
    if change:
        change(header)
    return header.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512)


def compress(data):
    return zstandard.ZstdCompressor().compress(data)


def read(path):
    """Read everything, as a check does."""
    with backup_reader.open_backup(path) as archive:
        for entry in archive.manifest.databases:
            backup_reader.drain(archive.database(entry))
        for _entry, chunks in archive.files():
            backup_reader.drain(chunks)


@pytest.fixture
def parts(sound, tmp_path):
    return Parts(sound, tmp_path)


def test_put_together_again_it_is_sound(parts):
    parts.write()
    read(parts.path)


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/passwd", "../outside", "artifacts/../../outside", "secret.key", "state/openclaw.sqlite-wal"),
        *("agents/x/agent/search.sqlite", "exports/01M802QPCKD3RD2B1CZH9PSDC7/../x", "state/openclaw.sqlite"),
        *("a\0b", ""),
        "agents/main/agent/openclaw-agent.sqlite",
        *("Archive/main/2026-01/s.0123456789ab.jsonl.zst", "exports/01M802QPCKD3RD2B1CZH9PSDC7/e\u0301.json"),
        *("artifacts\\meta", "exports/conversations-2026-01-01.jsonl\n"),
    ],
)
def test_a_file_without_a_place_in_a_home(parts, name):
    parts.rename(name)
    parts.change_header = lambda header: setattr(header, "name", name.replace("\0", ""))
    parts.write()
    with pytest.raises(Refused, match=r"does not belong in a home|out of order"):
        read(parts.path)


@pytest.mark.parametrize(
    "name",
    [
        *("exports/conversations-２０２６-01-01.jsonl", "archive/main/２０２６-01/s.0123456789ab.jsonl.zst"),
        *("STATE/config.json", "state/config.json ", "state//config.json", "./state/config.json", "ﬆate/config.json"),
    ],
)
def test_a_name_that_only_looks_like_one(name):
    assert contents.find_role(name) is None


@pytest.mark.parametrize(
    "path", ["../openclaw.sqlite", "/tmp/openclaw.sqlite", "agents/other/agent/openclaw-agent.sqlite"]
)
def test_a_database_without_a_place_in_a_home(parts, path):
    parts.manifest["databases"][1]["path"] = path
    parts.databases[1] = (path, parts.databases[1][1])
    parts.write()
    with pytest.raises(Refused, match="does not belong in a home"):
        read(parts.path)


NO_FILES = {
    "contains a link": (tarfile.SYMTYPE, tarfile.LNKTYPE),
    "contains a device": (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE),
    "not a plain file": (
        *(tarfile.DIRTYPE, tarfile.GNUTYPE_SPARSE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE),
        tarfile.CONTTYPE,
    ),
}


@pytest.mark.parametrize(
    ("kind", "sentence"), [(kind, sentence) for sentence, kinds in NO_FILES.items() for kind in kinds]
)
def test_what_is_no_plain_file(parts, kind, sentence):
    def change(header):
        header.type, header.linkname = kind, "/etc/passwd"

    parts.change_header = change
    parts.write()
    with pytest.raises(Refused, match=sentence):
        read(parts.path)


def alter(entries, place, change):
    """Change the content of a file or a database."""
    name, data = entries[place]
    entries[place] = (name, change(data))


def repeat_entry(entries, lines, place):
    """Repeat an entry, and list it twice in the manifest."""
    entries.insert(place + 1, entries[place])
    lines.insert(place + 1, dict(lines[place]))


def corrupt_file(parts):
    alter(parts.files, 0, lambda data: b"X" + data[1:])


def add_to(counts, name, number):
    counts[name] += number


ANOTHER = "This backup is of another version; keep it and import again into a new home."
SIZE, HASH = "size of .* differs from the manifest", "hash of .* differs from the manifest"
ELSEWHERE = "where the manifest lists"
CHANGES = {
    "a file twice": (lambda parts: repeat_entry(parts.files, parts.lines, 0), "twice or out of order|more files"),
    "a database twice": (
        lambda parts: repeat_entry(parts.databases, parts.manifest["databases"], 1),
        "lists a database twice",
    ),
    "bigger": (lambda parts: alter(parts.files, 0, lambda data: data + b"more"), SIZE),
    "smaller": (lambda parts: alter(parts.files, 0, lambda data: data[:-1]), SIZE),
    "other bytes": (corrupt_file, HASH),
    "another database": (lambda parts: alter(parts.databases, 1, lambda data: data[:-1] + b"X"), HASH),
    "no file": (lambda parts: parts.files.pop(0), ELSEWHERE),
    "no line": (lambda parts: parts.lines.pop(0), ELSEWHERE),
    "another order": (lambda parts: parts.files.insert(0, parts.files.pop(1)), ELSEWHERE),
    "something hidden": (
        lambda parts: setattr(parts, "padding", build_member("hidden", b"hidden")),
        "more than its manifest declares",
    ),
    "more than declared": (
        lambda parts: add_to(parts.manifest["files"], "bytes", -1),
        "more files than its manifest declares",
    ),
    "fewer than declared": (lambda parts: add_to(parts.manifest["files"], "count", 1), "fewer files"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_differs_from_its_manifest(parts, change):
    make, sentence = CHANGES[change]
    make(parts)
    parts.write()
    with pytest.raises(Refused, match=sentence):
        read(parts.path)


def flip_bit(data, place):
    place = int(len(data) * place)
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


DAMAGED = {f"another bit at {place}": partial(flip_bit, place=place) for place in (0, 0.3, 0.6, 0.9, 0.99)}
CUTS = (0, 5, 19, 20, 1000, -1, -20, -21, -500)
DAMAGED |= {f"cut at {size}": itemgetter(slice(size)) for size in CUTS}
DAMAGED["something before its parts"] = lambda data: compress(b"x" * 100) + data


@pytest.mark.parametrize("how", DAMAGED)
def test_one_that_is_damaged(sound, tmp_path, how):
    path = tmp_path / "archive"
    path.write_bytes(DAMAGED[how](sound))
    with pytest.raises(Refused):
        read(path)


@pytest.mark.parametrize(
    "broken",
    [b"", b"{", b"[]", b'{"schema": "openclaw-web.backup.v2"}', b"\xff", b'{"files": {"bytes": 1e999}}', b"[" * 9_000],
)
def test_a_manifest_that_is_none(broken):
    with pytest.raises(Refused, match="cannot be read"):
        manifest.parse_manifest(broken)


def test_numbers_that_cannot_be_are_refused(parts):
    for value in (-1, 2**63, 2**70, "1", 1.5, None, True):
        parts.manifest["files"]["bytes"] = value
        with pytest.raises(Refused, match="cannot be read"):
            manifest.parse_manifest(
                orjson.dumps(parts.manifest) if value != 2**70 else b'{"files": {"bytes": 1180591620717411303424}}'
            )


def test_a_bomb_is_not_unpacked(parts):
    """A part that unpacks to more than its member declares is not read further."""
    parts.padding = bytes(300_000_000)
    parts.write()
    with pytest.raises(Refused, match="more than its manifest declares"):
        read(parts.path)


def replace_last_part(sound, tmp_path, part):
    """Write an archive whose manifest is `part`."""
    offset = struct.unpack("<II4sQ", sound[-20:])[3]
    path = tmp_path / "archive"
    path.write_bytes(sound[:offset] + part + sound[-20:])
    return path


def test_a_manifest_of_a_gigabyte_is_not_read(sound, tmp_path):
    header = tarfile.TarInfo("manifest.json")
    header.size = 1 << 30
    packer = zstandard.ZstdCompressor().compressobj()
    pieces = [packer.compress(header.tobuf(tarfile.GNU_FORMAT)), *(packer.compress(bytes(1 << 20)) for _ in range(64))]
    path = replace_last_part(sound, tmp_path, b"".join([*pieces, packer.flush()]))
    tracemalloc.start()
    with pytest.raises(Refused, match="manifest of this archive is not where it should be"):
        read(path)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_a_member_after_the_manifest(sound, parts, tmp_path):
    data = orjson.dumps(parts.manifest)
    last = compress(build_member("manifest.json", data) + build_member("more", b"more") + bytes(1024))
    with pytest.raises(Refused, match="does not end where its manifest ends"):
        read(replace_last_part(sound, tmp_path, last))


def test_a_window_that_takes_all_memory_is_refused(sound, tmp_path):
    with pytest.raises(Refused, match="cannot be unpacked"):
        read(replace_last_part(sound, tmp_path, bytes.fromhex("28b52ffd00ff010000")))  # 3.75 TB


def test_a_restore_of_a_changed_archive_leaves_the_home(parts, tmp_path):
    corrupt_file(parts)
    parts.write()
    home = tmp_path / "home"
    backup_homes.fill(home, sessions=1, turns=1, artifacts=1)
    before = backup_homes.read_tables(home)
    status, _out, err = backup_homes.run(home, "backup", "restore", str(parts.path), "--replace")
    assert status == 3 and "differs from the manifest" in err
    assert backup_homes.read_tables(home) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "home", "home-source"]


def test_another_version_is_refused_and_other_rows_too(parts, tmp_path):
    first = parts.manifest["databases"][0]
    ours = first["migrations"]
    first["migrations"] = sorted([*ours[1:], "operations.9999_from_the_future"])  # with all of ours it would be newer
    parts.write()
    status, _out, err = backup_homes.run(tmp_path / "new", "backup", "restore", str(parts.path))
    assert (status, err) == (3, f"{ANOTHER}\n")
    first["migrations"] = ours
    first["rows"]["users"] += 1
    parts.write()
    status, _out, err = backup_homes.run(tmp_path / "new", "backup", "restore", str(parts.path))
    assert status == 3 and "differ from the manifest" in err
    assert not (tmp_path / "new" / "agents").exists()
