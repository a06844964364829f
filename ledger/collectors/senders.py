"""The sender of a message, the people it quotes, and whether they opted out.

No line is trusted because it is in an envelope, which anybody can type: its claims can only withhold more. Pure: no
Django, no files.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Any

from .message_unwrapping import CONVERSATION, FORWARDED, OTHER, QUOTE, SENDER, Block, UnwrappedMessage

NAMES = ("sender_id", "sender", "senderId", "senderName", "senderUsername", "e164", "username", "name", "id", "label")
OWN = ("senderId", "senderName", "senderUsername")
PARTS = ("name", "username", "e164", "id")  # of a sender that is an object, the one to show first
# In a quoted message: ids, which tell people apart, and everything that may name one.
QUOTED_IDS = ("sender_id", "e164")
QUOTED_NAMES = (
    *(*QUOTED_IDS, "sender", "sender_label", "sender_name", "sender_username", "label", "name", "username", "from"),
    *("title", "signature", "forwarded_from", "forwarded_from_id", "forwarded_from_username"),
)
GROUP_SIGNS = ("is_group_chat", "group_subject", "group_channel", "group_space", "group_members")
MAX_NAME, MAX_KEYS, MAX_OTHERS = 256, 40, 20


class WithheldReason(StrEnum):
    """Reasons why a record is withheld.

    Its sender opted out or is unknown, it may quote or answer such a person, or it was withheld earlier.
    """

    SENDER = "sender"
    UNKNOWN_SENDER = "unknown_sender"
    QUOTE = "quote"
    ANSWER = "answer"
    EARLIER = "earlier"


@dataclass(frozen=True, slots=True)
class QuotedPerson:
    """One quoted person, by every name given.

    `is_told` is True when an id is among the names.
    """

    names: frozenset[str]
    is_told: bool


def read_sender(blocks: list[Block], own: Any) -> dict[str, Any]:
    """The sender of a message by the blocks around it, short enough for a column.

    `own` is its `__openclaw`. The Sender block comes first, then the conversation block, then the record; of several
    blocks the first.
    """
    conversations, senders = (_merge_blocks(blocks, kind) for kind in (CONVERSATION, SENDER))
    sender = {
        key: plain for key, value in (conversations | senders).items() if (plain := _clean_value(value)) is not None
    }
    person = conversations.get("sender")
    if isinstance(person, dict):
        parts = {key: plain for key in PARTS if (plain := _clean_value(person.get(key))) not in (None, "")}
        if parts:
            sender.setdefault("sender_id", parts.get("id", next(iter(parts.values()))))
            sender["sender"] = next(iter(parts.values()))
            sender = {**{key: value for key, value in parts.items() if key != "id"}, **sender}
    if isinstance(own, dict):
        sender |= {key: plain for key in OWN if (plain := _clean_value(own.get(key))) is not None}
    if isinstance(person, dict) or _has_more(blocks, own):
        known = {*map(str, sender.values())}
        if others := sorted(_find_names(blocks, own) - known)[:MAX_OTHERS]:
            sender["others"] = others
    return sender


def find_sender_ids(sender: dict[str, Any]) -> set[str]:
    """Every id or name that a user message gives its sender."""
    others = sender.get("others")
    names = {str(sender[key]) for key in NAMES if sender.get(key)}
    return names | {str(name) for name in others if name} if isinstance(others, list) else names


def is_opted_out(names: Iterable[str | None], opted_out: frozenset[str]) -> bool:
    """Whether one of these ids or names belongs to somebody who opted out.

    All spellings of a name are compared.
    """
    spellings = list_all_spellings(opted_out)
    return any(name and not spellings.isdisjoint(_list_spellings(name)) for name in names)


def find_withheld_reason(
    sender: dict[str, Any], envelope: UnwrappedMessage | None, opted_out: frozenset[str], *, is_group: bool
) -> WithheldReason | None:
    """The reason why a user message is withheld, with these people opted out, or None.

    In a group, unknown senders and unknown quoted people are withheld.
    """
    names = find_sender_ids(sender)
    if is_opted_out(names, opted_out):
        return WithheldReason.SENDER
    is_group = is_group or any(sender.get(sign) for sign in GROUP_SIGNS)
    if is_group and (not names or (envelope is not None and (envelope.unknown or envelope.is_unnamed))):
        return WithheldReason.UNKNOWN_SENDER
    return WithheldReason.QUOTE if envelope is not None and _may_quote(envelope, opted_out, is_group) else None


def _may_quote(envelope, opted_out, is_group):
    if envelope.system_lines and (is_group or _mentions([envelope.system_lines], opted_out)):
        return True
    for block in envelope.blocks:
        strict = is_group or block.kind == FORWARDED  # a forwarded message is somebody else's in every chat
        if block.kind in (QUOTE, FORWARDED, OTHER):
            for quoted in _find_quoted(block.value):
                if is_opted_out(quoted.names, opted_out) or (strict and not quoted.is_told):
                    return True
            if not is_group and _mentions(_filter_lines(block.value), opted_out):
                return True
    return False


def _find_quoted(value: Any) -> Iterator[QuotedPerson]:
    """Everybody whom a block quotes.

    Plain lines and odd values quote somebody unknown.
    """
    entries = value if isinstance(value, list) else [value]
    for entry in entries:
        if not isinstance(entry, dict):
            yield QuotedPerson(frozenset(), is_told=False)
            continue
        person = entry.get("sender")
        person_values = entry
        if isinstance(person, dict):
            person_values = {**entry, **{key: person.get(key) for key in PARTS}, "sender_id": person.get("id")}
        names = frozenset(
            str(person_values[key]) for key in QUOTED_NAMES if isinstance(person_values.get(key), str | int)
        )
        is_forwarded = any(entry.get(key) for key in ("forwarded_from", "forwarded_from_username"))
        ids = ("forwarded_from_id",) if is_forwarded else QUOTED_IDS
        yield QuotedPerson(names, is_told=any(_clean_value(person_values.get(key)) for key in ids))


def _filter_lines(value):
    return [line for line in value if isinstance(line, str)] if isinstance(value, list) else []


def _mentions(lines, opted_out):
    pattern = _compile_pattern(opted_out)
    return any(pattern.search(line.casefold()) for line in lines)


def _merge_blocks(blocks: list[Block], kind: str) -> dict[str, Any]:
    """The objects of all blocks of a kind in one; first values count."""
    merged: dict[str, Any] = {}
    for block in blocks:
        if block.kind == kind and isinstance(block.value, dict):
            usable = {key: value for key, value in islice(block.value.items(), MAX_KEYS) if len(key) <= MAX_NAME}
            merged = {**usable, **merged} if merged else usable
    return merged


def _has_more(blocks: list[Block], own: Any) -> bool:
    """Whether a message names more people than one Sender and one conversation block can."""
    kinds = [block.kind for block in blocks if block.kind in (CONVERSATION, SENDER)]
    return len(kinds) > len({*kinds}) or (isinstance(own, dict) and "senderIdentity" in own)


def _find_names(blocks: list[Block], own: Any) -> set[str]:
    """Every id and name of senders that blocks and the record give."""
    holders = [block.value for block in blocks if block.kind in (CONVERSATION, SENDER)]
    holders += [own.get("senderIdentity")] if isinstance(own, dict) else []
    holders += [holder.get("sender") for holder in holders if isinstance(holder, dict)]
    names = {_clean_value(holder.get(key)) for holder in holders if isinstance(holder, dict) for key in NAMES}
    return {str(name) for name in names if name}


def _clean_value(value):
    """A channel's value for a sender, short enough for a column.

    None for anything but texts and small numbers.
    """
    if isinstance(value, str):
        return value[:MAX_NAME].replace("`\u200b``", "```").replace("\x00", "\ufffd")
    return value if isinstance(value, int) and abs(value) < 2**53 else None


@lru_cache(maxsize=64)
def list_all_spellings(opted_out: frozenset[str]) -> frozenset[str]:
    """Every spelling of these people's names."""
    return frozenset().union(*(_list_spellings(name) for name in opted_out))


@lru_cache(maxsize=64)
def _compile_pattern(opted_out: frozenset[str]) -> re.Pattern[str]:
    names = "|".join(map(re.escape, sorted(list_all_spellings(opted_out))))
    return re.compile(rf"(?<!\w)(?:{names})(?!\w)")


@lru_cache(maxsize=4096)
def _list_spellings(name: str) -> frozenset[str]:
    """The spellings of one person's name.

    `irc:bob`, `@Bob`, `bob!bob@host`, `Bob (42)` are all `bob` as well.
    """
    plain = " ".join(name.split()).casefold()
    spellings = {plain, plain.partition(":")[2].strip()}
    for spelling in list(spellings):
        spellings.add(spelling.partition("!")[0])
        if spelling.endswith(")") and " (" in spelling:
            label, _sep, inner = spelling[:-1].rpartition(" (")
            spellings |= {label.strip(), inner.strip(), inner.partition(":")[2].strip()}
    return frozenset(spelling.lstrip("@") for spelling in spellings if spelling.lstrip("@"))
