"""What a page says, and what its forms send unseen."""

import re
from html import unescape

HTMX = {"HX-Request": "true"}


def text_of(page):
    """The words of a page, on one line."""
    return " ".join(unescape(re.sub("<[^>]+>", " ", page.text)).split())


def expected_of(page):
    """The id of the verdict in force that the form of a page names."""
    return re.search(r'name="expected" value="([^"]*)"', page.text)[1]
