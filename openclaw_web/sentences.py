"""Sentences that are stored by their ids and values, and read in the language of whoever reads them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson
from django.utils import translation
from django.utils.translation import gettext, ngettext, pgettext, trans_real

STORED = '{"sentence":'  # a stored sentence begins with this; any other text is read as it is


class Sentence(str):
    """A text in one language, and in `source` its id, values and parts, for other languages."""

    __slots__ = ("source",)

    def __new__(cls, text: str, source: Any = None):
        sentence = super().__new__(cls, text)
        sentence.source = text if source is None else source
        return sentence

    def __str__(self):
        return self

    def __mod__(self, values):
        text = super().__mod__(values)
        if not isinstance(values, Mapping) or not isinstance(self.source, dict) or "values" in self.source:
            return text
        placeholders = f"{self}{self.source}"  # those of every plural
        used = {name: _to_source(value) for name, value in values.items() if f"%({name})" in placeholders}
        return Sentence(text, self.source | {"values": used})

    def __add__(self, other):
        return Sentence(super().__add__(other), {"parts": [self.source, _to_source(other)]})

    def __radd__(self, other):
        return Sentence(str.__add__(other, self), {"parts": [other, self.source]})


class _Recorder:
    """Django's translation of a language, whose texts are sentences."""

    def __init__(self, texts):
        self._texts = texts

    def __getattr__(self, name):
        return getattr(self._texts, name)

    def gettext(self, message):
        text = self._texts.gettext(message).rpartition(trans_real.CONTEXT_SEPARATOR)[2]
        return Sentence(text, {"id": message})

    def ngettext(self, singular, plural, number):
        return Sentence(self._texts.ngettext(singular, plural, number), {"id": [singular, plural], "number": number})


@contextmanager
def record_sentences(language: str) -> Iterator[None]:
    """Use a language for a block, in which every translated text is a sentence."""
    with translation.override(language):
        trans_real._active.value = _Recorder(trans_real._active.value)
        yield


def sentence_gap() -> str:
    """The space between two sentences; empty in languages with full-width punctuation."""
    return " " if pgettext("between things of a list", ", ").endswith(" ") else ""


def join_sentences(sentences: Iterable[object]) -> str:
    """Join sentences as the language writes them."""
    parts = [str(sentence) for sentence in sentences]
    gap = sentence_gap()
    return Sentence(gap.join(parts), {"sentences": [_to_source(part) for part in parts]})


def encode(text: str) -> str:
    """The text that stores a sentence; any other text is unchanged."""
    is_sentence = isinstance(text, Sentence) and isinstance(text.source, dict)
    return orjson.dumps({"sentence": text.source}).decode() if is_sentence else text


def decode(text: str) -> str:
    """A stored text in the language that is used now."""
    if not text.startswith(STORED):
        return text
    try:
        return _from_source(orjson.loads(text)["sentence"])
    except (AttributeError, KeyError, TypeError, ValueError):  # somebody changed the row
        return text


def _to_source(value):
    if isinstance(value, Sentence):
        return value.source
    return value if isinstance(value, int | float | None) else str(value)


def _from_source(source):
    if not isinstance(source, dict):
        return source
    name, number = source.get("id"), source.get("number")
    if "sentences" in source:
        text = join_sentences(map(_from_source, source["sentences"]))
    elif "parts" in source:
        text = "".join(map(_from_source, source["parts"]))
    elif isinstance(name, list):
        text = ngettext(*name, number)
    else:
        text = gettext(name).rpartition(trans_real.CONTEXT_SEPARATOR)[2]
    if "values" in source:
        text %= {name: _from_source(value) for name, value in source["values"].items()}
    return Sentence(text, source)
