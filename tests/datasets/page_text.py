"""The text of a page, and hidden values of its forms."""

import re
from html import unescape

HTMX = {"HX-Request": "true"}


def read_text(page):
    """The words of a page, on one line."""
    return " ".join(unescape(re.sub("<[^>]+>", " ", page.text)).split())


def read_expected(page):
    """The id of the current verdict that the form of a page names."""
    return re.search(r'name="expected" value="([^"]*)"', page.text)[1]
