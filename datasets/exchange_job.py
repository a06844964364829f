"""The job that stores missing exchanges of samples and marks those whose records have changed."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.kinds import MINUTE_MS, Kind, Schedule
from openclaw_web import clock
from openclaw_web.amounts import format_plural

from .exchange_store import BATCH, RULE, compare_exchanges, store_exchanges
from .models import DatasetSample, SampleExchange

DAY_MS = 86_400_000
MOST_COMPARED = 20_000  # exchanges in one run


def run(_params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Store the exchanges that samples lack, then compare those that were not compared for a day.

    Running it again goes on with what is left.
    """
    stored, last = 0, ""
    while batch := list(_find_missing().filter(id__gt=last).order_by("id")[: 10 * BATCH]):
        stored += store_exchanges(batch)
        last = batch[-1].id
        progress.update(stored, None, _("Storing exchanges: %(count)s so far") % {"count": f"{stored:,}"})
    compared, changed = _compare_oldest(progress)
    return {"message": _describe(stored, compared, changed), "stored": stored, "compared": compared, "changed": changed}


def is_needed() -> bool:
    """Whether an approved sample lacks its exchange, or one was not compared for a day."""
    return _find_missing().exists() or _find_oldest().exists()


def _find_missing():
    """Approved samples of stored turns that have no exchange of these rules."""
    turns = DatasetSample.objects.approved().filter(
        sample_type=DatasetSample.Type.ANNOTATED_TURN, turn_number__isnull=False
    )
    return turns.exclude(turn_traits__contains="gone").exclude(exchange__rule=RULE)


def _find_oldest():
    return SampleExchange.objects.filter(checked_at__lt=clock.now_ms() - DAY_MS)


def _compare_oldest(progress):
    """Compare the exchanges that were compared longest ago; return how many, and how many have changed."""
    compared = changed = 0
    while compared < MOST_COMPARED:
        batch = list(_find_oldest().select_related("sample").order_by("checked_at", "sample")[: 10 * BATCH])
        if not batch:
            break
        stale_ids = {exchange.sample_id for exchange in compare_exchanges(batch)}
        _store_result([exchange.sample_id for exchange in batch], stale_ids)
        compared, changed = compared + len(batch), changed + len(stale_ids)
        progress.update(compared, None, _("Comparing exchanges: %(count)s so far") % {"count": f"{compared:,}"})
    return compared, changed


def _store_result(sample_ids, stale_ids):
    now = clock.now_ms()
    rows = SampleExchange.objects.filter(sample_id__in=sample_ids)
    rows.filter(sample_id__in=stale_ids).update(is_stale=True, checked_at=now)
    rows.exclude(sample_id__in=stale_ids).update(is_stale=False, checked_at=now)


def _describe(stored, compared, changed):
    words = [
        format_plural("%(count)s exchange stored", "%(count)s exchanges stored", stored),
        format_plural("%(count)s compared", "%(count)s compared", compared),
        format_plural("%(count)s changed", "%(count)s changed", changed),
    ]
    return words[0] + ", " + words[1] + ", " + words[2] + "."


JOB = Kind(
    run=run,
    label=gettext_lazy("Store exchanges"),
    audit_text=gettext_lazy("started to store exchanges"),
    cancel_text=gettext_lazy("Exchanges already stored are kept; the next run continues."),
    describe_result=lambda result: str(result["message"]),
    schedule=Schedule("schedule.exchangeMinutes", MINUTE_MS, dict, is_needed),
)
