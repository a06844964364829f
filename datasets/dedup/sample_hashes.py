"""Hashes of what samples teach."""

import hashlib
from collections.abc import Mapping
from typing import Any

# All that decides what a sample teaches: its content, and the reply and the corrections of people.
HASHED = (
    *("content", "output", "gate_label", "gate_corrected_output"),
    *("guardian_label", "guardian_corrected_output"),
)


def compute_content_hash(row: Mapping[str, Any]) -> str:
    """The SHA-256 of the columns HASHED of a sample, in hexadecimal."""
    digest = hashlib.sha256()
    for column in HASHED:
        if (value := row[column]) is None:
            digest.update(b"-")
        else:
            data = value.encode(errors="surrogatepass")
            digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()
