"""Texts and payloads of sources as the ledger takes them: without secrets, bounded, with their scope.

The rules are those of the existing tool (openclaw-mem 2.0.0), so that both tools make the same events of one source.
"""

import re
from typing import Any

import orjson

from episodes import sensitive_text
from episodes.events import SURROGATES, normalize_scope
from openclaw_web.normal_forms import to_nfkc

SCOPE_TAG = re.compile(r"\[\s*SCOPE\s*:([^\]]+)\]", re.IGNORECASE)
SCOPE_CHARACTER = re.compile("[a-z0-9]")
NOT_STORABLE = re.compile(f"\0|{SURROGATES.pattern}")

HIDDEN_SECRET = "[REDACTED_SECRET]"  # noqa: S105 - the word that stands for a secret
HIDDEN_DEPTH = "[TRUNCATED_DEPTH]"
OUTPUT_KEYS = frozenset(["command_output", "raw_stderr", "raw_stdout", "stderr", "stdout", "tool_output"])
MOST_LEVELS, MOST_ITEMS, FEWEST_CHARACTERS = 5, 48, 160
PREVIEW_CHARACTERS, FEWEST_PREVIEW_CHARACTERS = 256, 32
SORTED = orjson.OPT_SORT_KEYS


def clean_text(value: object) -> str:
    """Return a text without blanks around it; characters that cannot be stored are replaced."""
    text = str(value or "")
    return (text if text.isascii() and "\0" not in text else NOT_STORABLE.sub("\ufffd", text)).strip()


def find_scope(value: object) -> str | None:
    """Return the scope that a value names; None when nothing is left of it.

    Raises WrongScope for a name of more than 200 characters.
    """
    text = str(value or "")
    has_name = SCOPE_CHARACTER.search(to_nfkc(text).lower())
    return normalize_scope(text) if has_name else None


def split_scope_tag(text: str) -> tuple[str | None, str]:
    """Return the scope that a tag `[SCOPE: x]` before a text names, and the text.

    The scope is None without a tag, and for a tag with nothing that a scope may hold. Raises WrongScope for a name of
    more than 200 characters.
    """
    text = text.strip()
    tag = SCOPE_TAG.match(text)
    return (find_scope(tag[1]), text[tag.end() :].strip()) if tag else (None, text)


def sanitize_payload(value: Any, most_characters: int) -> Any:
    """Return a JSON value without secrets, addresses and output of commands, each text cut at `most_characters`.

    Levels below the sixth, and items after the forty-eighth of an object or list, are left out.
    """
    return _sanitize(value, max(FEWEST_CHARACTERS, most_characters), 0)


def _sanitize(value, most_characters, level):
    if level > MOST_LEVELS:
        return HIDDEN_DEPTH
    if isinstance(value, str):
        return _sanitize_text(value, most_characters)
    if isinstance(value, dict):
        return _sanitize_object(value, most_characters, level)
    if isinstance(value, list):
        return [_sanitize(item, most_characters, level + 1) for item in value[:MOST_ITEMS]]
    return value


def _sanitize_text(text, most_characters):
    if not text.isascii() or "\0" in text:
        text = NOT_STORABLE.sub("\ufffd", text)
    if sensitive_text.is_secret(text):
        return HIDDEN_SECRET
    text = sensitive_text.mask_personal(text)
    return f"{text[:most_characters]}…" if len(text) > most_characters else text


def _sanitize_object(value, most_characters, level):
    sanitized, output_count = {}, 0
    for index, (key, item) in enumerate(value.items()):
        if index >= MOST_ITEMS:
            sanitized["_truncated_items"] = True
            break
        name = NOT_STORABLE.sub("\ufffd", str(key))
        if name.strip().lower() in OUTPUT_KEYS:
            output_count += 1
        else:
            sanitized[name] = _sanitize(item, most_characters, level + 1)
    return sanitized | ({"_redacted_output_fields": output_count} if output_count else {})


def bound_json(value: Any, most_bytes: int, label: str) -> tuple[Any, bool]:
    """Return a JSON value of at most `most_bytes`, and whether it replaces a larger one.

    A larger one becomes its size and the first characters of its text. `label` is `payload` or `refs`. Raises
    ValueError for a value that JSON does not have, and for integers of more than 64 bits.
    """
    if value is None:
        return None, False
    try:
        text = orjson.dumps(value, option=SORTED)
    except orjson.JSONEncodeError as exc:
        raise ValueError(f"invalid {label} JSON") from exc
    if len(text) <= most_bytes:
        return value, False
    bounded = {"_truncated": True, "reason": f"{label}_cap", "original_bytes": len(text)}
    count = min(PREVIEW_CHARACTERS, max(FEWEST_PREVIEW_CHARACTERS, most_bytes // 2))
    with_preview = bounded | {"preview": text.decode()[:count]}
    return (with_preview if len(orjson.dumps(with_preview)) <= most_bytes else bounded), True
