"""The tool that collects the texts, as tests use it: it is a program, not a package."""

import importlib.util
from functools import cache

from tests.suite.sources import ROOT

_spec = importlib.util.spec_from_file_location("words_of_the_site", ROOT / "locale" / "words.py")
words = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(words)


def forms(text):
    """The forms of a text, of an id or of a translation."""
    return [text] if isinstance(text, str) else list(text)


@cache
def find_texts():
    """All texts that are there, collected once."""
    return words.collect(uses())


@cache
def uses():
    """Every use of a text, extracted once."""
    return list(words.extract_texts())


def texts():
    """Every text for translators in each of its forms, with the first place it stands at."""
    for message in find_texts():
        if message.id:
            file, line = message.locations[0]
            yield from ((f"{file}:{line}", form) for form in forms(message.id))
