"""The doctor's checks of totals: they must be the sums of files and of agents."""

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from agents.models import Agent, CollectorSource
from openclaw_web.sqlite.integrity import DIFFERENT, Check, Reference, build_reference_check

from . import site_sums, summaries
from .models import AgentSummary, SiteSpan


def find_wrong_totals(db: str) -> list[str]:
    """Return the global columns of an agent that differ from the sums of its own file."""
    return summaries.find_wrong(Agent.objects.get(agent_id=db.removeprefix("agent_")))


AGENTS = (
    Reference(AgentSummary, "agent_id", Agent, key="agent_id"),
    Reference(CollectorSource, "agent_id", Agent, key="agent_id", where=~Q(agent_id="")),
)


def _rebuild_site_sums(_agent):
    site_sums.rebuild()
    return 1


CHECKS = (
    Check(
        name="sums",
        sentence=DIFFERENT,
        noun="totals",
        target=_("the sessions and days"),
        find=find_wrong_totals,
        repair=lambda agent: len(find_wrong_totals(agent.db)),  # whoever repairs rows of an agent adds it up again
        is_last=True,
        reads="ledger",
    ),
    Check(
        name="site_sums",
        sentence=DIFFERENT,
        noun="totals",
        target=_("the totals of the agents"),
        find=lambda _db: ["site_spans"] if SiteSpan.objects.exists() and site_sums.are_wrong() else [],
        repair=_rebuild_site_sums,
    ),
    build_reference_check("orphan", *AGENTS, target=_("an agent"), is_note=True),
)
