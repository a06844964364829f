"""Answers a request for a list with its page, a part of it, or a file.

The part is for HTMX, which swaps it into the page.
"""

from dataclasses import replace
from functools import partial
from itertools import islice
from urllib.parse import quote

from django.shortcuts import redirect
from django.utils.text import capfirst
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from ..errors import Refused
from ..pages.html import render_page
from . import segments
from .declaration import PLAIN
from .filter_line import build_line, read_line
from .filters import LINE, STRIP, DayFilters, cell_labels, download_rows, file_name
from .list_counts import RowCount, count_rows, format_count
from .merging import MOST_FILES, MOST_SORTED, Merged, MergedListing
from .paging import list_names, read_batches, read_cursors
from .strip import ALONE_MS, INLINE_MS, choose_unit, count_by_time, draw_strip, get_moment

COUNTING_MS = 8  # the longest time that a list waits for the number of its rows
AGENT = ("", _("Agent"), False, PLAIN)  # the last column of a list of all agents


def render_list(request, template, declaration, *, agent=None, filters=None, words=None, status=200, **context):
    """Answer with the list `declaration` as its page, its part or its file.

    The answer is the part below the filter form for HTMX, and a file when the address has a `format`. `agent` is an
    agent or `Merged` for a list of agents' rows. `filters` are validated filters where they are not just those of the
    address; `words` replace those of the declaration. A line of filters is answered with a redirect to the address that
    it stands for.
    """
    whose, typed, problems = agent or request.user, request.GET.get(LINE), []
    is_merged = isinstance(agent, Merged)
    if is_merged:
        declaration = replace(declaration, columns=(*declaration.columns, AGENT))
    if typed is not None:
        form = declaration.filters(request.GET)
        _offer_values(declaration, form, whose)
        request.GET, problems = read_line(form, request.GET)  # the links of the page are those of what was understood
        filters = declaration.filters(request.GET)
    filters = filters or declaration.filters(request.GET)
    if is_merged and len(agent.agents) > MOST_SORTED:
        name = filters.DEFAULT.removeprefix("-")
        filters.ORDERS = {name: filters.ORDERS[name]}
    filters.validate()
    if typed is not None and not problems and not request.htmx:
        return redirect(request.path + filters.query_with(format=filters.cleaned_data["format"] or None))
    _skip_empty_segment(declaration, whose, filters)
    listing = _open(declaration, whose, filters)
    if filters.cleaned_data["format"]:
        return _stream_file(request, declaration, filters, listing, "" if is_merged else str(agent or ""))
    if request.htmx and request.GET.get(STRIP):
        return render_page(request, template, _build_strip(request, declaration, whose, filters), partial="list_strip")
    if not is_merged:
        listing = replace(listing, rows=declaration.read(listing.rows))
    page = listing.page(**read_cursors(request))
    rows = _build_rows(declaration, agent, filters, page, request.user)  # while the files of the page are open
    _offer_values(declaration, filters, whose)
    amounts = _read_amounts(declaration, whose) if declaration.amounts and not filters.chosen else {}
    row_count = amounts.get(filters.segment) or _count_matches(declaration, whose, filters, listing, page)
    context |= {
        **rows,
        **_build_heading(words or declaration.words, row_count, page, _("all agents") if is_merged else agent),
        **_build_segments(declaration, whose, filters, page, amounts),
        **_build_strip(request, declaration, whose, filters),
        "labels": cell_labels(declaration.columns),
        "filters": filters,
        "line": build_line(filters, typed, problems),
        "is_typed": typed is not None,
        "page": page,
        "heads": filters.heads(declaration.columns),
        "orders": filters.orders(declaration.columns),
        "card": declaration.card,
        "window": 0 if is_merged else listing.window,
        "bar": _build_bar(request.user.saved_views(declaration.on), declaration.on, filters),
        **declaration.beside(filters),
    }
    has_more = page or page.is_partial or context["elsewhere"] or request.GET.get("after") or request.GET.get("before")
    context["is_empty"] = not (has_more or filters.chosen or typed)
    response = render_page(request, template, context, partial="list_part", status=status)
    if request.htmx:  # the form sends its empty fields as well
        response["HX-Push-Url"] = request.get_full_path() if problems else request.path + filters.query
    return response


def _open(declaration, whose, filters, *, sort="", **changes):
    """The rows that the filters choose, of one agent, of all of them, or for a person."""
    sort, criteria = sort or filters.sorting, filters.criteria | changes
    if isinstance(whose, Merged):
        return MergedListing(whose, declaration, sort, criteria)
    return declaration.fits(whose, sort=sort, **criteria)


def _build_rows(declaration, agent, filters, page, user):
    """Context of the rows of a page.

    Rows of agents are `parts`: rows of one agent that stand together, and `agents` has the rows of each agent. `home`
    is the address below which that agent's pages are.
    """
    if not agent:
        return declaration.prepare(page, filters, user)
    is_merged = isinstance(agent, Merged)
    prepared = {}
    for whose, rows in page.split() if is_merged else [(agent, page)]:
        facts = {"agent": whose, "home": f"/agents/{quote(whose.agent_id)}/", "is_merged": is_merged}
        prepare = partial(declaration.prepare, rows, filters, whose)
        is_cached = is_merged and declaration.is_prepared_from_file
        prepared[whose.agent_id] = {**facts, **(page.prepare_once(whose, rows, prepare) if is_cached else prepare())}
    if not is_merged:
        return {"agent": agent, "parts": list(prepared.values()), "agents": list(prepared.values())}
    parts, rows = [], {name: iter(facts["rows"]) for name, facts in prepared.items()}
    for whose, length in page.list_runs():
        parts.append({**prepared[whose.agent_id], "rows": list(islice(rows[whose.agent_id], length))})
    return {"parts": parts, "agents": list(prepared.values())}


def _offer_values(declaration, filters, whose):
    """Fill in the values that the filters offer: of an agent, of a person, or of the first agents of all."""
    if not isinstance(whose, Merged):
        filters.offer(whose)
        return
    offered: dict[str, list] = {}
    key = ("offered", declaration.on, get_language())
    for values in whose.read_each(key, partial(_read_offered, filters), whose.agents[:MOST_FILES])[0]:
        for name, choices in values.items():
            offered[name] = list(dict.fromkeys([*offered.get(name, ()), *choices]))
    filters.offered = offered


def _read_offered(filters, agent):
    filters.offer(agent)
    return filters.offered


def _read_amounts(declaration, whose):
    """The number of rows of each segment, as far as it can be counted in time."""
    if not isinstance(whose, Merged):
        return declaration.amounts(whose, COUNTING_MS) or {}
    key = ("amounts", declaration.on)
    each, is_whole = whose.read_each(key, lambda agent: declaration.amounts(agent, COUNTING_MS))
    names = dict.fromkeys(name for amounts in each for name in amounts)
    return {
        name: segments.sum_counts([amounts.get(name, RowCount(0)) for amounts in each] + [RowCount(0, not is_whole)])
        for name in names
    }


def _skip_empty_segment(declaration, whose, filters):
    """Show everything instead of an optional first segment that is empty.

    Only on a page without filters.
    """
    parts = filters.SEGMENTS
    if not parts or not parts.is_first_optional or filters.segment != parts.first or filters.data.get(segments.NAME):
        return
    if not _open(declaration, whose, filters).page(size=1):
        filters.cleaned_data[segments.NAME] = segments.ALL


def _stream_file(request, declaration, filters, listing, agent_id):
    """The file that `format` in the address asks for. See `lists.download_rows`.

    `request.listed` is set for the audit log.
    """
    kind, name = filters.cleaned_data["format"], file_name(declaration.on, agent_id)
    shape = declaration.shape or (lambda row: {name: row[name] for name in declaration.fields})
    columns = declaration.fields
    if isinstance(listing, MergedListing):
        if names := listing.find_unusable():
            sentence = _("This file would lack rows, because the databases of these agents cannot be used: %(agents)s")
            raise Refused(str(sentence) % {"agents": ", ".join(names[:5])})
        columns = ("agent_id", *columns)
        pairs = listing.read_rows(lambda listing: _read_for_file(declaration, listing))
        shaped = ({"agent_id": whose.agent_id, **shape(row)} for whose, row in pairs)
    else:
        batches = read_batches(_read_for_file(declaration, listing), order=listing.order)
        shaped = (shape(row) for batch in batches for row in batch)
    response = download_rows(shaped, columns=columns, name=name, kind=kind)
    subject = {"object_type": "list", "object_id": declaration.on, "agent_id": agent_id}
    request.listed = {**subject, "filter": filters.query, "format": kind}
    return response


def _read_for_file(declaration, listing):
    """The rows as dictionaries, with the columns of the order as keys of the next batch."""
    ordered = list_names(listing.order)
    if declaration.file:
        return declaration.file(listing.all)
    return declaration.read(listing.all).values(*dict.fromkeys((*declaration.fields, *ordered)))


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
        everything = _open(declaration, whose, filters, **{segments.NAME: segments.ALL})
        elsewhere = filters.query_with(segment=segments.ALL) if everything.page(size=1) else ""
    return {"segments": parts, "segments_label": parts and filters.SEGMENTS.label, "elsewhere": elsewhere}


def _build_strip(request, declaration, whose, filters):
    """Context of the bars above the rows, or `is_strip_late` where these take longer than a page may.

    The request for the bars alone, and the link to them, have more time. Without time enough there are none.
    """
    if not isinstance(filters, DayFilters):
        return {"strip": None, "is_strip_late": False}
    is_alone, unit = bool(request.GET.get(STRIP)), choose_unit(filters)
    moment, budget = get_moment(filters), ALONE_MS if is_alone else INLINE_MS
    listing = _open(declaration, whose, filters, sort=filters.DEFAULT)
    if isinstance(listing, MergedListing):
        counts = listing.count_bars(unit, lambda rows: count_by_time(rows, moment, unit, budget), budget)
    else:
        counts = count_by_time(listing, moment, unit, budget)
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
    if isinstance(listing, MergedListing):
        return listing.count(lambda agent, rows: _count_rows(declaration, agent, filters, rows))
    return _count_rows(declaration, whose, filters, listing)


def _count_rows(declaration, whose, filters, listing):
    if declaration.count and not filters.chosen:
        return declaration.count(whose, COUNTING_MS)
    # The column to count: the id where there is one, else the first of the order.
    names = list_names(listing.order)
    return count_rows(listing.all, column=names[-1] if names[-1] == "id" else names[0], budget_ms=COUNTING_MS)


def _build_heading(words, row_count, page, agent):
    """Context of the heading: the title, and the number of rows beside it.

    The number is not part of the title, which stays the same between pages.
    """
    count = max(row_count.count, len(page))
    # Only this part gets a capital: another language may begin the sentence with the name of the agent.
    names = {"agent": agent}
    numbers = {"count": count, "shown": capfirst(format_count(row_count, at_least=count))}
    counted = words.counted % (names | numbers) if count else ""
    return {"words": words, "title": str(words.uncounted) % names, "counted": counted, **numbers}
