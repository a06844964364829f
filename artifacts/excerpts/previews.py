"""Previews of a content within a number of characters.

Both ends of a text, or the first bytes of another content in hexadecimal.
"""

from ..contents import content_types
from ..contents.measurement import Measure

CHARS = 500
GAP = "\n...\n"  # as the existing tool marks what it left out
HEX_ROWS = 32


def both_ends(head: str, tail: str, cap: int) -> str:
    """`head` and `tail` of a longer text as one of at most `cap` characters."""
    first, last = split_cap(cap)
    return head[:first] + GAP + tail[len(tail) - last :] if last else head[:cap]


def split_cap(cap: int) -> tuple[int, int]:
    """Split `cap` into the characters of beginning and end, with the mark between them.

    (cap, 0): there is no room for both.
    """
    if cap <= len(GAP) + 2:
        return cap, 0
    first = (cap - len(GAP)) // 2
    return first, cap - len(GAP) - first


def build_preview(measured: Measure, cap: int = CHARS) -> str:
    """The preview of a content in its row."""
    if not content_types.is_text(measured.content_type):
        return format_hex_rows(measured.head, cap)
    head = measured.head[: 4 * cap + 4].decode("utf-8", "replace")
    if measured.chars <= cap:
        return head[:cap]
    return both_ends(head, decode_tail(measured.tail[-4 * cap - 8 :]), cap)


def decode_tail(data: bytes) -> str:
    """The last bytes of a UTF-8 text as characters, without a first one that is cut."""
    start = next((place for place in range(min(3, len(data))) if data[place] & 0xC0 != 0x80), min(3, len(data)))
    return data[start:].decode("utf-8", "replace")


def format_hex_rows(data: bytes, cap: int) -> str:
    """Rows of 16 bytes, as many as fit into `cap` characters and HEX_ROWS.

    A row is `00000010  5f48 161f …  _H..`.
    """
    rows: list[str] = []
    room = cap
    for place in range(0, min(len(data), 16 * HEX_ROWS), 16):
        part = data[place : place + 16]
        characters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        row = f"{place:08x}  {part.hex(' ', 2):<39}  {characters}\n"
        if len(row) > room:
            break
        rows.append(row)
        room -= len(row)
    return "".join(rows)
