"""From one page of a list, or part of a transcript, to the next."""

import re
from html import unescape

from tests.ledger.talks import text_of


def onwards(response, how):
    """Where the link that says these words leads, or the one with this relation; None without one."""
    found = re.search(rf'href="([^"]+)"[^>]*(?:>{how}</a>|rel="{how}")', text_of(response))
    return found and unescape(found[1])


def walk(client, page, pick, how="next", query=""):
    """What `pick` finds on a page and all that it leads to, in the order of reading."""
    found, address = [], page + query
    while address:
        response = client.get(address)
        found.append(pick(response))
        link = onwards(response, how)
        address = link and page + link
    return [each for part in (found[::-1] if "earlier" in how else found) for each in part]
