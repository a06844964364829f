"""The page of the search, and the answers below the field that every page has."""

from django.views.decorators.http import require_safe

from openclaw_web.errors import Refused
from openclaw_web.pages import navigation
from openclaw_web.pages.html import render_page
from openclaw_web.pages.roles import needs

from . import find
from .query import parse
from .sources import GROUPS, KINDS

IN_GROUP, IN_ANSWERS = 5, 3  # hits of each group


@require_safe
@needs("viewer")
def search(request):
    """Show the newest hits of each group of kinds, or with a kind or an order, a list of them.

    With `part=answers` the same below the field of a page, after the pages that have the words in their name.
    """
    text, order = request.GET.get("q", "").strip(), request.GET.get("sort", "")
    is_answers = bool(request.htmx) and request.GET.get("part") == "answers"
    values = {"text": text, "order": order, "kinds": KINDS, "groups": GROUPS, "found": None, "results": None}
    values["problem"] = ""
    values["pages"] = navigation.find_pages(request.user, text) if is_answers else []
    try:
        query = parse(text) if text else None
        if query and (is_answers or not (order or "kind" in query.filters)):
            values["found"] = find.search_groups(query, IN_ANSWERS if is_answers else IN_GROUP)
            values["shelf"] = find.describe_limits(values["found"].values())
        elif query:
            values["results"] = find.search(query, is_best=order == "best", after=request.GET.get("after", ""))
            values["shelf"] = find.describe_limits([values["results"]])
    except Refused as refused:
        values["problem"] = refused.sentence
    return render_page(
        request, "search/search.html", values, partial="answers", status=422 if values["problem"] else 200
    )
