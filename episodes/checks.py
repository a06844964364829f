"""Checks of the doctor: triggers, retention runs, gaps and chain of the ledger."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.sqlite import inspection, write_queue
from openclaw_web.sqlite.integrity import Check

from .chain import triggers, verification
from .models import EpisodeGap, EpisodeRun

UNPROTECTED = _("The ledger of %(place)s can be changed without a trace; triggers are missing or different: %(named)s.")
OPEN = ngettext_lazy(
    "A retention run of %(place)s was left open, so that its events can be removed: %(named)s.",
    "Retention runs of %(place)s were left open, so that their events can be removed: %(named)s.",
    "count",
)
OVERLAPPING = ngettext_lazy(
    "A gap in the ledger of %(place)s overlaps another one: %(named)s.",
    "Gaps in the ledger of %(place)s overlap others: %(named)s.",
    "count",
)
CHANGED = ngettext_lazy(
    "The ledger of %(place)s does not match its chain: %(named)s.",
    "The ledger of %(place)s does not match its chain in %(rows)s: %(named)s.",
    "count",
)
ADVICE = _("Compare it with the ledger of a backup; “openclaw-web episodes verify” names the backups that match.")


def _find_overlapping_gaps(db) -> Iterator[str]:
    last = 0
    for gap in EpisodeGap.objects.using(db).order_by("first_id").iterator():
        if gap.first_id <= last or gap.last_id < gap.first_id:
            yield str(gap)
        last = max(last, gap.last_id)


def _find_changed(db) -> Iterator[str]:
    """Yield events that do not match the chain, each with its fault.

    Wrong triggers are a check of their own.
    """
    if not inspection.read_kind(db, triggers.TABLE):  # an operator dropped it
        return
    result = verification.verify(db)
    unprotected = set(triggers.find_wrong(db))
    for name, sentence in result.faults:
        if name not in unprotected:
            yield f"{name} ({sentence})"
    yield from ["…"] * (result.fault_count - len(result.faults))


def _install_triggers(agent):
    count = len(triggers.find_wrong(agent.db))
    with write_queue.agent_transaction(agent.db):
        triggers.install(agent.db)
    return count


CHECKS = (
    Check(name="episode_triggers", sentence=UNPROTECTED, find=triggers.find_wrong, repair=_install_triggers),
    Check(
        name="episode_runs_open",
        sentence=OPEN,
        noun="runs",
        find=lambda db: EpisodeRun.objects.using(db).filter(is_open=True).order_by("id").values_list("id", flat=True),
        repair=lambda agent: EpisodeRun.objects.using(agent.db).filter(is_open=True).update(is_open=False),
    ),
    Check(name="episode_gaps", sentence=OVERLAPPING, find=_find_overlapping_gaps, advice=ADVICE),
    Check(name="episode_chain", sentence=CHANGED, find_deep=_find_changed, advice=ADVICE),
)
