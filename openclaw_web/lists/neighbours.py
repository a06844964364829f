"""The rows before and after one, in a list that somebody came from."""

from dataclasses import dataclass, replace
from typing import Any

from .filters import ListFilters
from .paging import Listing, encode_cursor, reverse_order

LOOKING_MS = 50  # for each neighbour in a search for words


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The ids of the rows beside one, None at an end of the list, or where none was found in time."""

    before: str | None
    after: str | None


def read_list_filters(kind: type[ListFilters], query: Any) -> ListFilters:
    """The filters of a list in an address; none where they do not hold."""
    filters = kind(query)
    is_known = filters.is_valid() and filters.sorting.removeprefix("-") in filters.ORDERS
    if is_known:
        return filters
    plain = kind({})
    plain.is_valid()
    return plain


def find_neighbours(listing: Listing, row: Any) -> Neighbours:
    """The neighbours of a row in a listing that goes by `created_at` and `place`, both of which the row has."""
    here = encode_cursor([row.created_at, row.place])
    listing = replace(listing, rows=listing.rows.values("id", "created_at", "place"))
    if listing.time_ms:
        listing = replace(listing, time_ms=LOOKING_MS)
    pages = [
        replace(listing, order=order).page(after=here, size=1)
        for order in (reverse_order(listing.order), listing.order)
    ]
    return Neighbours(*(page[0]["id"] if page else None for page in pages))
