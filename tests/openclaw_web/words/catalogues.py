"""The program that collects the texts of the site, loaded as a module for tests."""

import importlib.util
from functools import cache

from tests.suite.sources import ROOT

_spec = importlib.util.spec_from_file_location("words_of_the_site", ROOT / "locale" / "words.py")
words = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(words)


def forms(text):
    """Returns the forms of a text, of an id or of a translation."""
    return [text] if isinstance(text, str) else list(text)


@cache
def find_texts():
    """Returns all texts of the site, collected once."""
    return words.collect(uses())


@cache
def uses():
    """Returns every use of a text, extracted once."""
    return list(words.extract_texts())


def texts():
    """Yields every form of every text for translators, with the first place of its text."""
    for message in find_texts():
        if message.id:
            file, line = message.locations[0]
            yield from ((f"{file}:{line}", form) for form in forms(message.id))
