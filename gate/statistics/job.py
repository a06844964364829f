"""The job that rebuilds the sums of an agent with many decisions."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import services as agents
from jobs.kinds import Kind
from openclaw_web.sqlite import connection_tuning

from . import sum_rebuild, sums


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Build the missing sums of `params["agent"]`, and return how many decisions they hold.

    Running it again builds the rest. Raises Refused for an unknown agent.
    """
    db = agents.get_alias(params["agent"])
    if not sums.is_on():
        return {"message": _("Statistics of decisions are turned off in the settings."), "decisions": 0}
    connection_tuning.expect_many_writes(db)
    try:
        while sum_rebuild.run_step(db):
            progress.update(*sum_rebuild.count_progress(db), _("Calculating statistics of %(agent)s") % params)
    finally:
        connection_tuning.expect_few_writes(db)
    count = sum_rebuild.count_progress(db)[1] // 2
    words = ngettext(
        "Statistics of %(count)s decision calculated.", "Statistics of %(count)s decisions calculated.", count
    )
    return {"message": words % {"count": f"{count:,}"}, "decisions": count}


def in_words(result: dict[str, Any]) -> str:
    """Return the result in a sentence."""
    return result["message"]


JOB = Kind(
    run=run,
    label=gettext_lazy("Calculate statistics of decisions"),
    audit_text=gettext_lazy("started to calculate statistics of decisions"),
    cancel_text=gettext_lazy("What is calculated already is kept; the next run continues."),
    describe_result=in_words,
    page="gate:statistics",
    page_params=("agent",),
)
