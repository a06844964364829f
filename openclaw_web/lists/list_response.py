"""Answers a request for a list with its page, a part of it, or a file.

The part is for HTMX, which swaps it into the page.
"""

from dataclasses import replace

from django.shortcuts import redirect
from django.utils.text import capfirst

from ..pages.html import render_page
from . import segments
from .filter_line import build_line, read_line
from .filters import LINE, STRIP, DayFilters, cell_labels, download_rows, file_name
from .list_counts import RowCount, count_rows, format_count
from .paging import read_cursors
from .strip import ALONE_MS, INLINE_MS, choose_unit, count_by_time, draw_strip, get_moment

COUNTING_MS = 8  # the longest time that a list waits for the number in its title


def render_list(request, template, declaration, *, agent=None, filters=None, words=None, status=200, **context):
    """Answer with the list `declaration` as its page, its part or its file.

    The answer is the part below the filter form for HTMX, and a file when the address has a `format`. `filters` are
    validated filters where they are not just those of the address; `words` replace those of the declaration. A line of
    filters is answered with a redirect to the address that it stands for.
    """
    whose, typed, problems = agent or request.user, request.GET.get(LINE), []
    if typed is not None:
        form = declaration.filters(request.GET)
        form.offer(whose)
        request.GET, problems = read_line(form, request.GET)  # the links of the page are those of what was understood
        filters = declaration.filters(request.GET).validate()
        if not problems and not request.htmx:
            return redirect(request.path + filters.query_with(format=filters.cleaned_data["format"] or None))
    filters = filters or declaration.filters(request.GET).validate()
    _skip_empty_segment(declaration, whose, filters)
    listing = declaration.fits(whose, sort=filters.sorting, **filters.criteria)
    if filters.cleaned_data["format"]:
        return _stream_file(request, declaration, filters, listing, str(agent or ""))
    if request.htmx and request.GET.get(STRIP):
        return render_page(request, template, _build_strip(request, declaration, whose, filters), partial="list_strip")
    page = replace(listing, rows=declaration.read(listing.rows)).page(**read_cursors(request))
    filters.offer(whose)
    table_context = {"labels": cell_labels(declaration.columns), **declaration.prepare(page, filters, whose)}
    amounts = declaration.amounts(whose, COUNTING_MS) if declaration.amounts and not filters.chosen else {}
    row_count = amounts.get(filters.segment) or _count_matches(declaration, whose, filters, listing, page)
    context |= {
        **({"agent": agent} if agent else {}),
        **_build_heading(words or declaration.words, row_count, page, {"agent": agent}),
        **_build_segments(declaration, whose, filters, page, amounts),
        **_build_strip(request, declaration, whose, filters),
        "filters": filters,
        "line": build_line(filters, typed, problems),
        "is_typed": typed is not None,
        "page": page,
        "heads": filters.heads(declaration.columns),
        "orders": filters.orders(declaration.columns),
        "card": declaration.card,
        **table_context,
        "window": listing.window,
        "bar": _build_bar(request.user.saved_views(declaration.on), declaration.on, filters),
        **declaration.beside(filters),
    }
    response = render_page(request, template, context, partial="list_part", status=status)
    if request.htmx:  # the form sends its empty fields as well
        response["HX-Push-Url"] = request.get_full_path() if problems else request.path + filters.query
    return response


def _skip_empty_segment(declaration, whose, filters):
    """Show everything instead of an optional first segment that is empty.

    Only on a page without filters.
    """
    parts = filters.SEGMENTS
    if not parts or not parts.is_first_optional or filters.segment != parts.first or filters.data.get(segments.NAME):
        return
    if not declaration.fits(whose, sort=filters.sorting, **filters.criteria).page(size=1):
        filters.cleaned_data[segments.NAME] = segments.ALL


def _stream_file(request, declaration, filters, listing, agent_id):
    """The file that `format` in the address asks for. See `lists.download_rows`.

    `request.listed` is set for the audit log.
    """
    kind, name = filters.cleaned_data["format"], file_name(declaration.on, agent_id)
    ordered = (name.lstrip("-") for name in listing.order)  # as keys of the next batch, also where no column shows them
    rows = (
        declaration.file(listing.all)
        if declaration.file
        else declaration.read(listing.all).values(*dict.fromkeys((*declaration.fields, *ordered)))
    )
    shape = declaration.shape or (lambda row: {name: row[name] for name in declaration.fields})
    response = download_rows(rows, order=listing.order, columns=declaration.fields, shape=shape, name=name, kind=kind)
    subject = {"object_type": "list", "object_id": declaration.on, "agent_id": agent_id}
    request.listed = {**subject, "filter": filters.query, "format": kind}
    return response


def _build_segments(declaration, whose, filters, page, amounts):
    """Context of the segments of a list, with their numbers of rows.

    `elsewhere` links to everything when the current segment is empty and the list is not.
    """
    parts = [
        {
            "label": label,
            "amount": amounts.get(name),
            "href": filters.query_with(segment=name) or filters.home,
            "is_current": name == filters.segment,
        }
        for name, label in segments.choices(filters.SEGMENTS)
    ]
    elsewhere = ""
    if parts and not page and not page.is_partial and filters.segment != segments.ALL:
        everything = declaration.fits(whose, sort=filters.sorting, **filters.criteria | {segments.NAME: segments.ALL})
        elsewhere = filters.query_with(segment=segments.ALL) if everything.page(size=1) else ""
    return {"segments": parts, "segments_label": parts and filters.SEGMENTS.label, "elsewhere": elsewhere}


def _build_strip(request, declaration, whose, filters):
    """Context of the bars above the rows, or `is_strip_late` where these take longer than a page may.

    The request for the bars alone, and the link to them, have more time. Without time enough there are none.
    """
    if not isinstance(filters, DayFilters):
        return {"strip": None, "is_strip_late": False}
    is_alone, unit = bool(request.GET.get(STRIP)), choose_unit(filters)
    listing = declaration.fits(whose, sort=filters.DEFAULT, **filters.criteria)
    counts = count_by_time(listing, get_moment(filters), unit, ALONE_MS if is_alone else INLINE_MS)
    strip = draw_strip(counts, filters, unit) if counts else None
    return {"strip": strip, "is_strip_late": counts is None and not is_alone}


def _build_bar(views, on, filters):
    """Context of the bar above a list: filters in force, saved views, the current view."""
    query = filters.query
    current = next((view for view in views if view.query == query), None)
    return {"on": on, "query": query, "views": views, "current": current, "is_home": query == filters.bare}


def _count_matches(declaration, whose, filters, listing, page):
    """The number of rows, as far as it can be counted in time."""
    if filters.SEGMENTS and not filters.chosen and page.is_partial:  # the segment has few rows among very many others
        return RowCount(len(page), is_more=True)
    if declaration.count and not filters.chosen:
        return declaration.count(whose, COUNTING_MS)
    # The column to count: the id where there is one, else the first of the order.
    names = [name.lstrip("-") for name in listing.order]
    return count_rows(listing.all, column=names[-1] if names[-1] == "id" else names[0], budget_ms=COUNTING_MS)


def _build_heading(words, row_count, page, names):
    """Context of the heading: the title, and the number of rows beside it.

    The number is not part of the title, which stays the same between pages.
    """
    count = max(row_count.count, len(page))
    # Only this part gets a capital: another language may begin the sentence with the name of the agent.
    numbers = {"count": count, "shown": capfirst(format_count(row_count, at_least=count))}
    counted = words.counted % (names | numbers) if count else ""
    return {"words": words, "title": str(words.uncounted) % names, "counted": counted, **numbers}
