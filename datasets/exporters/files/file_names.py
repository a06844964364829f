"""Names of an export's files and data sets.

They repeat its name and format, so that several exports can lie in one folder.
"""

import hashlib
import re
import unicodedata

OTHER = re.compile(r"[^A-Za-z0-9_]+")
LONGEST = 64  # characters of a name that file names repeat
HASH = 8  # of these are a hash, where the rest is not the whole name


def slug(name: str) -> str:
    """A name in ASCII letters, digits, `_` and `-`.

    Blanks become `-`; a short hash stands for anything else that was lost.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    short_name = OTHER.sub("-", plain).strip("-_")
    if short_name == name.replace(" ", "-") and len(short_name) <= LONGEST:
        return short_name
    digest = hashlib.sha256(name.encode()).hexdigest()[:HASH]
    short_name = short_name[: LONGEST - HASH - 1].strip("-_")
    return f"{short_name}-{digest}" if short_name else digest


def dataset_name(name: str, kind: str) -> str:
    """The name of an export's training rows for trainers; its file names begin with it."""
    return f"ocl_{slug(name)}_{kind}"


def side_name(dataset: str, side: str) -> str:
    """The name of one side's rows for trainers."""
    return dataset if side == "train" else f"{dataset}_{side}"


def file_name(dataset: str, side: str, kind: str) -> str:
    """The name of the file of one side."""
    return f"{dataset}.{side}.{kind if kind in ('csv', 'parquet') else 'jsonl'}"
