"""`SHA256SUMS`: the hash of every file of an export but its own, as `sha256sum -c` reads it.

Nothing hashes itself or what hashes it: rows and what describes them are in the manifest, the manifest and all of them
are here, and what stands here follows from the manifest alone.
"""

from collections.abc import Iterable

CHECKSUM_FILE = "SHA256SUMS"


def format_checksums(sums: Iterable[tuple[str, str]]) -> bytes:
    """The content of the file for names and their hashes."""
    return "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(sums)).encode()
