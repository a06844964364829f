"""Decides which artifacts count as holding a secret.

An artifact does when a kind of secret was found in it that the operator counts.
"""

from openclaw_web.sqlite.json_columns import decode
from people.configuration import setting_values as configuration

KEY = "artifacts.flaggedKinds"


def read_flagged_kinds() -> frozenset[str]:
    """The kinds of secrets that flag an artifact, from the setting.

    Each call is a query: call it once for many rows.
    """
    return frozenset(configuration.get_texts(KEY))


def find_flagged_kinds(secret_kinds: str | list[str], kinds: frozenset[str] | None = None) -> list[str]:
    """Those of an artifact's `secret_kinds` that flag it.

    `secret_kinds` is a list, or its JSON; `kinds` is the result of `read_flagged_kinds`. All kinds flag it where the
    JSON cannot be read.
    """
    artifact_kinds = decode(secret_kinds, object) if isinstance(secret_kinds, str) else secret_kinds
    if artifact_kinds == []:
        return []
    kinds = read_flagged_kinds() if kinds is None else kinds
    return [kind for kind in artifact_kinds if kind in kinds] if isinstance(artifact_kinds, list) else sorted(kinds)


def is_flagged(secret_kinds: str | list[str], kinds: frozenset[str] | None = None) -> bool:
    """Whether the whole of an artifact is for admins only.

    Parts of limited size are for all who may see its session.
    """
    return bool(find_flagged_kinds(secret_kinds, kinds))
