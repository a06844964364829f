"""What an export's files and data sets are called: by its name and format, so that several can lie in one folder."""

import hashlib
import re
import unicodedata

OTHER = re.compile(r"[^A-Za-z0-9_]+")
LONGEST = 64  # characters of a name that file names repeat
HASH = 8  # of these, where they do not tell the whole name


def slug(name: str) -> str:
    """A name in ASCII letters, digits, `_` and `-`, for blanks too; a short hash tells what else was lost."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    found = OTHER.sub("-", plain).strip("-_")
    if found == name.replace(" ", "-") and len(found) <= LONGEST:
        return found
    told = hashlib.sha256(name.encode()).hexdigest()[:HASH]
    found = found[: LONGEST - HASH - 1].strip("-_")
    return f"{found}-{told}" if found else told


def dataset_name(name: str, kind: str) -> str:
    """What trainers call the training rows of an export, and what its file names begin with."""
    return f"ocl_{slug(name)}_{kind}"


def side_name(dataset: str, side: str) -> str:
    """What trainers call the rows of one side."""
    return dataset if side == "train" else f"{dataset}_{side}"


def file_name(dataset: str, side: str, kind: str) -> str:
    """What the file of one side is called."""
    return f"{dataset}.{side}.{'csv' if kind == 'csv' else 'jsonl'}"
