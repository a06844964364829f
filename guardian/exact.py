"""Contents of files as texts that lose no byte: what is no UTF-8 is carried through and comes out as it went in."""


def text_of(data: bytes) -> str:
    """A content as a text; `bytes_of` gives the same bytes back, whatever they are."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The bytes of a text that `text_of` made."""
    return text.encode("utf-8", "surrogateescape")
