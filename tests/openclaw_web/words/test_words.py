"""Words that texts avoid, and their replacements (docs/words.md)."""

import re

import pytest

from tests.suite.sources import fail_for

from .catalogues import texts

INSTEAD = {
    r"made|makes?|making": "create",
    r"goes|going|gone|went|go": "remove, continue",
    r"stay(?:s|ed|ing)?": "keep, remain",
    r"mend(?:s|ed|ing)?": "repair",
    r"look(?:s|ed|ing)?": "check, preview",
    r"drill(?:s|ed)?": "restore test",
    r"stash(?:es|ed|ing)?": "store",
    r"pour(?:s|ed|ing)?": "put",
    r"by (?:it|them)sel(?:f|ves)": "automatically",
    r"(?:a|the|each|every|last|next) collects?": "import",
    r"cancelled|cancelling|labelled|coloured": "canceled (American spelling)",
    r"meanwhile": "in the meantime, since",
    r"wants?": "needs, uses",
}
# In their plain sense; and names of commands, in quotation marks.
PLAIN = re.compile(
    r"“openclaw-web [^”]*”|openclaw … [^.]*|artifact stash|\bGo (?:to|back)\b|^Go$|[Mm]ake sure|looks like|Look-around"
    r"|went wrong|should have made|Make this a rule|[Mm]ake the (?:path|artifact)|To make the"
)


@pytest.mark.parametrize("word", INSTEAD)
def test_a_word_that_was_dropped_stays_out(word):
    pattern = re.compile(rf"(?<!%\()\b(?:{word})\b(?!\)s)", re.IGNORECASE)
    fail_for(
        f"{place}  {pattern.search(text)[0]!r}: say {INSTEAD[word]}: {text}"
        for place, text in texts()
        if pattern.search(PLAIN.sub("", text))
    )


def test_pages_name_no_option_of_a_command():
    option = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
    fail_for(
        f"{place}  {option.search(text)[0]}: a browser has no options: {text}"
        for place, text in texts()
        if place.startswith("templates/") and option.search(text)
    )
