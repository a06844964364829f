"""Which artifacts count as holding a secret: what was found in them, as far as the operator counts it."""

from openclaw_web.sqlite.json_columns import decode
from people.configuration import setting_values as configuration

KEY = "artifacts.flaggedKinds"


def read_flagged_kinds() -> frozenset[str]:
    """The kinds of secrets that flag an artifact, as the setting has it. One query: ask once for many rows."""
    return frozenset(configuration.get_texts(KEY))


def find_flagged_kinds(secret_kinds: str | list[str], kinds: frozenset[str] | None = None) -> list[str]:
    """Those of an artifact's `secret_kinds` (a list, or its JSON) that flag it; `kinds` is what `counted` answers.

    All of them where nobody can read what was found.
    """
    found = decode(secret_kinds, object) if isinstance(secret_kinds, str) else secret_kinds
    if found == []:
        return []
    kinds = read_flagged_kinds() if kinds is None else kinds
    return [kind for kind in found if kind in kinds] if isinstance(found, list) else sorted(kinds)


def is_flagged(secret_kinds: str | list[str], kinds: frozenset[str] | None = None) -> bool:
    """Whether an artifact is for admins only, as a whole; parts of known size are for all who may see its session."""
    return bool(find_flagged_kinds(secret_kinds, kinds))
