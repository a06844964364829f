"""Texts as a browser's text box gives them back: without this, looking at a reply would be editing it."""


def as_typed(text: str) -> str:
    """A text with one kind of line ending and without NUL, which no box can hold."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\ufffd")
