"""Strings of JSON within a text, decoded layer by layer, with a way back.

A string token that holds escapes is decoded into the next layer, with the name of its key; in its own layer it is
masked. So each character is searched once for each depth, and no quote has to be guessed: a token begins after one of
`{[,:` and ends before one of `:,]}`, which holds in any JSON and in pieces of it within prose.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

MAX_DEPTH = 5
BREAK, KEY_BREAK = "\0", "\x01"  # stand after a decoded value, and between the name of a key and its value
MASK = "\x02"  # stands for each character of a string that the layer below has decoded
LOST = "\ufffd"  # for a NUL or half a character: it takes one place and matches nothing
_TOKEN = re.compile(
    r'(?:\A|(?<=[\0\x01])|[{\[,:])[ \t\r\n]*+"((?:[^"\\\x00-\x1f]++|\\[^\x00-\x1f])*+)"(?=[ \t\r\n]*+(?:[:,}\]\0]|\Z))'
)
_ESCAPE = re.compile(r"(\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.))", re.DOTALL)
MAX_CHUNK = 4_096  # pieces of a token, each without or of one escape, that are decoded at once
_CHUNK = re.compile(rf"(?:[^\\]++|{_ESCAPE.pattern}){{1,{MAX_CHUNK}}}+", re.DOTALL)
MAX_CACHED = 10_000  # escapes whose character is remembered
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
# ASCII characters as URLs write them, and what has no place in one.
_PERCENT = re.compile(r"(%[2-7][0-9a-fA-F])")
_URL_END = re.compile(r"[\s\"'<>\\\x00-\x02]")
_URL_REST = re.compile(r"[^\s\"'<>\\\x00-\x02]{1,4096}")
_BEFORE_PERCENT = 256  # characters
_COLON = re.compile(r"[ \t\r\n]*+:[ \t\r\n]*+\Z")


class Layer:
    """One depth of a text: `text` has MASKs where strings were decoded into the layer below.

    `depth` is 0 for the text itself.
    """

    def __init__(self, text: str, parent: "Layer | None" = None, decoder: "_Decoder | None" = None) -> None:
        self.text, self.parent = text, parent
        self.depth: int = parent.depth + 1 if parent else 0
        self._decoder = decoder
        self.is_url = decoder is not None and decoder.escape is _PERCENT

    def find_origin(self, place: int) -> int:
        """The place in the whole text of a place in this layer; never within an escape."""
        layer: Layer | None = self
        while layer is not None and layer._decoder is not None:
            place = layer._decoder.find_origin(place)
            layer = layer.parent
        return place


def build_layers(text: str) -> Iterator[Layer]:
    """Yield the layers of a text, the text itself first; at most MAX_DEPTH are decoded.

    After each comes what it holds as escapes of URLs, also where these are escaped themselves.
    """
    for layer in _build_json_layers(text):
        yield layer
        if "%" in layer.text and (decoded := _decode_percents(layer)):
            yield decoded
            if twice := _decode_percents(decoded):
                yield twice


def _decode_percents(layer):
    """The parts of a layer that have escapes of URLs as a layer of their own; None without one."""
    text, place, decoder = layer.text, 0, None
    while match := _PERCENT.search(text, place):
        start = max(place, match.start() - _BEFORE_PERCENT)
        start = match.start() - len(_URL_END.split(text[start : match.start()])[-1])
        decoder = decoder or _Decoder(text, _PERCENT)
        place = _URL_REST.match(text, match.start()).end()
        decoder.add(start, place, BREAK)
    return Layer("".join(decoder.chunks), layer, decoder) if decoder else None


def _build_json_layers(text):
    layer = Layer(text)
    while "\\" in layer.text and layer.depth < MAX_DEPTH:
        tokens = _find_escaped_tokens(layer.text)
        if not tokens:
            break
        decoder = _Decoder(layer.text)
        for start, end, is_key in tokens:
            decoder.add(start, end, KEY_BREAK if is_key else BREAK)
        below = Layer("".join(decoder.chunks), layer, decoder)
        layer.text = _mask(layer.text, tokens)
        yield layer
        layer = below
    yield layer


def find_tokens(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of what each string token of JSON holds, without its quotes."""
    return (match.span(1) for match in _TOKEN.finditer(text))


def _find_escaped_tokens(text):
    """The tokens to decode as (start, end, is the name of a key), in order.

    These are tokens with escapes, and both of a key and its value where one has them.
    """
    tokens, before = [], None  # `before`: the token before, as (start, end, was it taken)
    escape = text.find("\\")
    for match in _TOKEN.finditer(text):
        start, end = match.span(1)
        if escape < start:
            escape = text.find("\\", start)
            if escape < 0:  # the last token that can matter is the value of a key with escapes
                escape = len(text)
        if escape == len(text) and not (before and before[2]):
            break
        is_escaped = escape < end
        if before and (is_escaped or before[2]) and _COLON.match(text, before[1] + 1, start - 1):
            if before[2]:
                tokens.pop()
            tokens += [(before[0], before[1], True), (start, end, False)]
            before = (start, end, False)  # a value is no key
        else:
            if is_escaped:
                tokens.append((start, end, False))
            before = (start, end, is_escaped)
    return tokens


class _Decoder:
    """Collects decoded tokens as chunks, and where each begins and ends.

    Escapes are counted only in the few chunks in which something is found.
    """

    def __init__(self, text, escape=_ESCAPE):
        self.text, self.length, self.escape = text, 0, escape
        self.chunks, self._starts, self._origins, self._stops = [], array("q"), array("q"), array("q")
        self._pieces = {}  # by the number of a chunk: where its pieces begin, decoded and in the text
        self._take(BREAK, 0, 0)

    def add(self, start, end, after):
        """Take a token, some thousand escapes at a time, and the sign that stands after it."""
        if end - start <= MAX_CHUNK or self.escape is _PERCENT:
            self._take("".join(self._decode_parts(self.text[start:end])) + after, start, end)
            return
        for chunk in _CHUNK.finditer(self.text, start, end):
            decoded = "".join(self._decode_parts(chunk[0]))
            self._take(decoded + after if chunk.end() == end else decoded, *chunk.span())

    def _take(self, decoded, origin, stop):
        self.chunks.append(decoded)
        self._starts.append(self.length)
        self._origins.append(origin)
        self._stops.append(stop)
        self.length += len(decoded)

    def find_origin(self, place):
        """The place in the text of a place among the decoded chunks."""
        number = bisect_right(self._starts, place) - 1
        if number not in self._pieces:
            self._pieces[number] = self._count_pieces(number)
        starts, origins = self._pieces[number]
        piece = bisect_right(starts, place) - 1
        return origins[piece] + place - starts[piece]

    def _count_pieces(self, number):
        origin = self._origins[number]
        chunk = self.text[origin : self._stops[number]]
        lengths = map(len, self.escape.split(chunk))
        decoded_lengths = map(len, self._decode_parts(chunk))
        starts = accumulate(decoded_lengths, initial=self._starts[number])
        return array("q", starts), array("q", accumulate(lengths, initial=origin))

    def _decode_parts(self, chunk):
        """The texts between escapes, and the characters of these, in turn."""
        parts = self.escape.split(chunk)
        parts[1::2] = map(_DECODED.__getitem__, parts[1::2])
        return parts


class _Escapes(dict):
    """The character of each escape, decoded once; LOST for NUL and for half a character."""

    def __missing__(self, escape):
        character = _decode_escape(escape)
        if len(self) < MAX_CACHED:
            self[escape] = character
        return character


_DECODED = _Escapes()


def _decode_escape(escape):
    if escape[0] == "%":
        return chr(int(escape[1:], 16))
    if len(escape) == 2:
        return _LETTERS.get(escape[1], escape[1] if escape[1] >= " " else LOST)
    code = int(escape[2:6], 16)
    if len(escape) == 12:
        return chr(0x10000 + ((code - 0xD800) << 10) + int(escape[8:], 16) - 0xDC00)
    return LOST if code < 3 or 0xD800 <= code < 0xE000 else chr(code)


def _mask(text, tokens):
    pieces: list[str] = []
    place = 0
    for start, end, is_key in tokens:
        if not is_key or text.find("\\", start, end) >= 0:
            pieces += (text[place:start], MASK * (end - start))
            place = end
    pieces.append(text[place:])
    return "".join(pieces)
