"""A list as an answer: its page, the part of it that HTMX swaps, or its file."""

from dataclasses import replace

from django.utils.text import capfirst

from ..pages.html import render_page
from . import segments
from .filters import cell_labels, download_rows, file_name
from .list_counts import RowCount, count_rows, format_count
from .paging import read_cursors

COUNTING_MS = 8  # for the number in a title: no list waits longer for it


def render_list(request, template, what, *, agent=None, filters=None, words=None, status=200, **context):
    """The list `what` (a `List`) as its page, with HTMX as the part below its filter form, with `format` as its file.

    `filters` are checked ones where they are not just those of the address, `words` others than the list declares.
    """
    filters, whose = filters or what.filters(request.GET).checked(), agent or request.user
    _skip_empty_segment(what, whose, filters)
    found = what.fits(whose, sort=filters.sorting, **filters.asked)
    if filters.cleaned_data["format"]:
        return _file(request, what, filters, found, str(agent or ""))
    page = replace(found, rows=what.read(found.rows)).page(**read_cursors(request))
    filters.offer(whose)
    shown = {"labels": cell_labels(what.columns), **what.prepare(page, filters, whose)}
    amounts = what.amounts(whose, COUNTING_MS) if what.amounts and not filters.chosen else {}
    known = amounts.get(filters.segment) or _known(what, whose, filters, found, page)
    context |= {
        **({"agent": agent} if agent else {}),
        **_in_words(words or what.words, known, page, {"agent": agent}),
        **_segments(what, whose, filters, page, amounts),
        "filters": filters,
        "page": page,
        "heads": filters.heads(what.columns),
        "orders": filters.orders(what.columns),
        "card": what.card,
        **shown,
        "window": found.window,
        "bar": _bar(request.user.kept_views(what.on), what.on, filters),
        **what.beside(filters),
    }
    response = render_page(request, template, context, partial="list_part", status=status)
    if request.htmx:  # the form sends its empty fields as well
        response["HX-Push-Url"] = request.path + filters.query
    return response


def _skip_empty_segment(what, whose, filters):
    """Let a page that nobody narrowed open on everything where its first segment may be, and is, empty."""
    parts = filters.SEGMENTS
    if not parts or not parts.is_first_optional or filters.segment != parts.first or filters.data.get(segments.NAME):
        return
    if not what.fits(whose, sort=filters.sorting, **filters.asked).page(size=1):
        filters.cleaned_data[segments.NAME] = segments.ALL


def _file(request, what, filters, found, agent_id):
    """The file that `format` in the address asks for; `request.listed` tells the audit log. See `lists.download`."""
    kind, name = filters.cleaned_data["format"], file_name(what.on, agent_id)
    ordered = (name.lstrip("-") for name in found.order)  # as keys of the next batch, also where no column shows them
    rows = what.file(found.all) if what.file else what.read(found.all).values(*dict.fromkeys((*what.fields, *ordered)))
    shape = what.shape or (lambda row: {name: row[name] for name in what.fields})
    response = download_rows(rows, order=found.order, columns=what.fields, shape=shape, name=name, kind=kind)
    about = {"object_type": "list", "object_id": what.on, "agent_id": agent_id}
    request.listed = {**about, "filter": filters.query, "format": kind}
    return response


def _segments(what, whose, filters, page, amounts):
    """The segments of a list with their numbers, and when the one that is shown is empty, where there are rows."""
    shown = [
        {
            "label": label,
            "amount": amounts.get(name),
            "href": filters.query_with(segment=name) or filters.home,
            "is_current": name == filters.segment,
        }
        for name, label in segments.choices(filters.SEGMENTS)
    ]
    elsewhere = ""
    if shown and not page and not page.is_partial and filters.segment != segments.ALL:
        everything = what.fits(whose, sort=filters.sorting, **filters.asked | {segments.NAME: segments.ALL})
        elsewhere = filters.query_with(segment=segments.ALL) if everything.page(size=1) else ""
    return {"segments": shown, "segments_label": shown and filters.SEGMENTS.label, "elsewhere": elsewhere}


def _bar(views, on, filters):
    """What stands above a list: its name for `keep` and `forget`, the filters in force, the views, the one in force."""
    query = filters.query
    current = next((view for view in views if view.query == query), None)
    return {"on": on, "query": query, "views": views, "current": current, "is_home": query == filters.bare}


def _known(what, whose, filters, found, page):
    """How many rows there are, as far as that can be counted in time."""
    if filters.SEGMENTS and not filters.chosen and page.is_partial:  # a segment with few rows among very many others
        return RowCount(len(page), is_more=True)
    if what.count and not filters.chosen:
        return what.count(whose, COUNTING_MS)
    return count_rows(found.all, column=_counted(found.order), budget_ms=COUNTING_MS)


def _counted(order):
    """The column to count: the id, with which all indexes of a list end, or of lists without one what they go by."""
    names = [name.lstrip("-") for name in order]
    return names[-1] if names[-1] == "id" else names[0]


def _in_words(words, known, page, about):
    """The title of a page and how many rows there are: that is never part of it, so that it stays what it is."""
    count = max(known.count, len(page))
    # Not all of the sentence: another language may begin it with the name of the agent.
    shown = {"count": count, "shown": capfirst(format_count(known, at_least=count))}
    counted = words.counted % (about | shown) if count else ""
    return {"words": words, "title": str(words.uncounted) % about, "counted": counted}
