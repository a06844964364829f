"""The list of an agent's artifacts."""

from dataclasses import replace

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from django.views.decorators.http import require_safe

from agents.decorators import agent_view
from openclaw_web.lists.answers import COUNTING_MS, Words, answer_file, answer_page
from openclaw_web.lists.paging import places
from openclaw_web.pages.doors import needs

from . import list_markup, listing
from .filters import ArtifactFilters

ARTIFACTS = Words(
    counted=ngettext_lazy("%(shown)s artifact of %(agent)s", "%(shown)s artifacts of %(agent)s", "count"),
    uncounted=_("Artifacts of %(agent)s"),
    none=_("No artifacts yet"),
    how=_("Big outputs of tools come here while a home is collected. Anything else can be stashed by hand:"),
    command="openclaw-web artifact stash --from FILE",
    icon="archive-box",
)


@require_safe
@agent_view
@needs("viewer")
def artifact_list(request, agent):
    """The artifacts that fit the filters, the last used first; as a file with `format`."""
    filters = ArtifactFilters(request.GET).checked()
    found = filters.listing(agent.db)
    if filters.cleaned_data["format"]:
        return answer_file(
            request,
            filters,
            found.all.values("id", *list_markup.FIELDS),
            on="artifacts",
            order=found.order,
            columns=list_markup.FIELDS,
            shape=list_markup.shape,
            agent_id=agent.agent_id,
        )
    page = replace(found, rows=found.rows.values(*listing.COLUMNS)).page(**places(request))
    uses = listing.uses(agent.db, [row["handle"] for row in page])
    return answer_page(
        request,
        "artifacts/artifact_list.html",
        filters,
        found,
        page,
        on="artifacts",
        words=ARTIFACTS,
        columns=list_markup.COLUMNS,
        rows=list_markup.artifact_rows(page, uses),
        known=None if filters.chosen else listing.counted(agent.db, budget_ms=COUNTING_MS),
        agent=agent,
    )
