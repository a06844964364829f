"""Cuts tool results to the room that a row has for them.

Words of people and of the agent are never cut.
"""

from ..markers import cut_before_marker

SHORTEST_RESULT = 200
CUT = "\n[… {count} characters left out …]"


def compute_share(room: int, results: int) -> int:
    """Divide a room of characters among this number of results.

    No share is shorter than SHORTEST_RESULT.
    """
    return max(SHORTEST_RESULT, room // results) if results else 0


def truncate_text(text: str, length: int) -> str:
    """The beginning of a text, with a note of how many characters are left out.

    The text itself where the cut would save hardly anything.
    """
    longest_mark = len(CUT.format(count=len(text)))
    if len(text) <= length + longest_mark:
        return text
    kept_length = cut_before_marker(text, length - longest_mark)
    return text[:kept_length] + CUT.format(count=len(text) - kept_length)
