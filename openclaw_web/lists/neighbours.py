"""Finds the rows before and after a row in a list.

Pages use it to link to the neighbours in the list that the person came from.
"""

from dataclasses import dataclass, replace
from typing import Any

from .declaration import List
from .filters import ListFilters
from .paging import Listing, encode_cursor, reverse_order

LOOKING_MS = 50  # for each neighbour in a search for words


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Ids of the neighbouring rows.

    None at an end of the list, or where none was found in time.
    """

    before: str | None
    after: str | None


def read_list_filters(kind: type[ListFilters], query: Any) -> ListFilters:
    """Read the filters of a list from an address; no filters where they are invalid."""
    filters = kind(query)
    is_known = filters.is_valid() and filters.sorting.removeprefix("-") in filters.ORDERS
    if is_known:
        return filters
    plain = kind({})
    plain.is_valid()
    return plain


def find_list_neighbours(declaration: List, whose: Any, row: Any, filters: ListFilters) -> Neighbours:
    """Find the neighbours of a row in a list with these filters."""
    return find_neighbours(declaration.fits(whose, sort=filters.sorting, **filters.criteria), row)


def find_neighbours(listing: Listing, row: Any) -> Neighbours:
    """Find the neighbours of a row, which has the columns by which the listing is ordered."""
    names = [name.lstrip("-") for name in listing.order]
    row_cursor = encode_cursor([getattr(row, name) for name in names])
    listing = replace(listing, rows=listing.rows.values("pk", *names))
    if listing.time_ms:
        listing = replace(listing, time_ms=LOOKING_MS)
    pages = [
        replace(listing, order=order).page(after=row_cursor, size=1)
        for order in (reverse_order(listing.order), listing.order)
    ]
    return Neighbours(*(page[0]["pk"] if page else None for page in pages))
