"""Reads a list, or the parts of a transcript, page after page."""

import re
from html import unescape

from tests.ledger.transcript_records import get_text


def find_link(response, label):
    """Find the address of a link by its words or its relation; None without one."""
    match = re.search(rf'href="([^"]+)"[^>]*(?:>{label}</a>|rel="{label}")', get_text(response))
    return match and unescape(match[1])


def read_pages(client, page, pick, label="next", query=""):
    """Collect what `pick` finds on a page and on all following pages, in reading order."""
    parts, address = [], page + query
    while address:
        response = client.get(address)
        parts.append(pick(response))
        link = find_link(response, label)
        address = link and page + link
    return [item for part in (parts[::-1] if "earlier" in label else parts) for item in part]
