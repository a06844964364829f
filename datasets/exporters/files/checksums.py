"""`SHA256SUMS`: the hashes of an export's files, as `sha256sum -c` reads them.

It has every file but itself. The manifest has the hashes of the rows and of the files that describe them; this file has
all of those and the manifest's, and follows from the manifest alone.
"""

from collections.abc import Iterable

CHECKSUM_FILE = "SHA256SUMS"


def format_checksums(sums: Iterable[tuple[str, str]]) -> bytes:
    """The content of the file for names and their hashes."""
    return "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(sums)).encode()
