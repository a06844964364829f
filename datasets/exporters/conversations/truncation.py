"""What tools returned, cut to the room that a row has for it. Words of people and of the agent are never cut."""

SHORTEST_RESULT = 200
CUT = "\n[… {count} characters left out …]"


def compute_share(room: int, results: int) -> int:
    """How long each of so many results may be in the room that the words of a row leave."""
    return max(SHORTEST_RESULT, room // results) if results else 0


def truncate_text(text: str, length: int) -> str:
    """The beginning of a text, and how much is left out; the very text when hardly anything would be."""
    longest_mark = len(CUT.format(count=len(text)))
    if len(text) <= length + longest_mark:
        return text
    kept = length - longest_mark
    return text[:kept] + CUT.format(count=len(text) - kept)
