"""What the pages of lists have in common: the words of a title, the context of a page, the list as a file."""

from dataclasses import dataclass

from django.utils.text import capfirst

from ..pages.html import render_page
from .counting import amount, in_words
from .filters import download, file_name

COUNTING_MS = 8  # for the number in a title: no list waits longer for it


@dataclass(frozen=True, slots=True)
class Words:
    """What a list says: how many rows (a lazy plural of `count`, with `shown`), its title, when empty."""

    counted: str
    uncounted: str
    none: str
    how: str
    command: str = ""
    icon: str = ""


def answer_page(
    request, template, filters, found, page, *, on, words, columns, rows, known=None, status=200, **context
):
    """The page of the list `on`, or with HTMX the part below its filter form.

    `known` is how many rows there are (an Amount), for a list that can count them quicker.
    """
    known = known or amount(found.all, column=_counted(found.order), budget_ms=COUNTING_MS)
    about = {"agent": context.get("agent")}
    context |= {
        "filters": filters,
        "page": page,
        "title": str(words.uncounted) % about,
        "counted": _counted_words(words, known, page, about),
        "heads": filters.heads(columns),
        "rows": rows,
        "window": found.window,
        "words": words,
        "bar": _bar(request.user.kept_views(on), on, filters),
    }
    response = render_page(request, template, context, partial="list-part", status=status)
    if request.htmx:  # the form sends its empty fields as well
        response["HX-Push-Url"] = request.path + filters.query
    return response


def answer_file(request, filters, rows, *, on, order, columns, shape=dict, agent_id=""):
    """The file that `format` in the address asks for; `request.listed` tells the audit log. See `lists.download`."""
    kind = filters.cleaned_data["format"]
    response = download(rows, order=order, columns=columns, shape=shape, name=file_name(on, agent_id), kind=kind)
    what = {"object_type": "list", "object_id": on, "agent_id": agent_id}
    request.listed = {**what, "filter": filters.query, "format": kind}
    return response


@dataclass(frozen=True, slots=True)
class Bar:
    """What stands above a list: its name for `keep` and `forget`, the filters in force, the views, the one in force."""

    on: str
    query: str
    views: list
    current: object | None
    is_home: bool


def _bar(views, on, filters):
    query = filters.query
    current = next((view for view in views if view.query == query), None)
    return Bar(on, query, views, current, is_home=query in ("", filters.home))


def _counted(order):
    """The column to count: the id, with which all indexes of a list end, or of lists without one what they go by."""
    names = [name.lstrip("-") for name in order]
    return names[-1] if names[-1] == "id" else names[0]


def _counted_words(words, known, page, about):
    """How many rows there are, as far as that is known by now; never part of the title, which stays what it is."""
    count = max(known.count, len(page))
    if not count:
        return ""
    return capfirst(words.counted % (about | {"count": count, "shown": in_words(known, at_least=count)}))
