"""The job that stores missing exchanges of samples, and searches their texts before exports do."""

import time
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from findings.detection import read_detection, read_version
from jobs.kinds import MINUTE_MS, Kind, Schedule
from jobs.models import JobRun
from openclaw_web.amounts import format_plural
from openclaw_web.disk import locks
from openclaw_web.sqlite import write_queue

from .exchange_store import BATCH, RULE, store_exchanges
from .exports.clean_texts import find_clean_texts
from .models import DatasetSample, SampleExchange

WAIT_SECONDS = 0.2  # between two looks at a running import


def run(_params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Store the exchanges that samples lack, then search those that the rules of today have not searched.

    It waits while an import runs, and ends where another job waits or the process is to end. Running it again goes on
    with what is left.
    """
    stored, searched, detection = 0, 0, read_detection()
    for samples in _read_parts(_find_missing(), progress):
        stored += store_exchanges(samples)
        progress.update(stored, None, _("Storing exchanges: %(count)s so far") % {"count": f"{stored:,}"})
    for exchanges in _read_parts(_find_unsearched(detection.version).select_related("sample"), progress):
        done = []
        for exchange in exchanges:
            if progress.is_ending:
                break
            exchange.clean_rules, exchange.clean_texts = detection.version, find_clean_texts(exchange, detection)
            done.append(exchange)
            searched += 1
            progress.update(searched, None, _("Searching exchanges: %(count)s so far") % {"count": f"{searched:,}"})
        with write_queue.global_transaction():
            SampleExchange.objects.bulk_update(done, ["clean_rules", "clean_texts"])
    stored_words = format_plural("%(count)s exchange stored", "%(count)s exchanges stored", stored)
    searched_words = format_plural("%(count)s searched", "%(count)s searched", searched)
    return {"message": stored_words + ", " + searched_words + ".", "stored": stored, "searched": searched}


def is_needed() -> bool:
    """Whether an approved sample lacks its exchange, or the rules of today have not searched one."""
    return _find_missing().exists() or _find_unsearched(read_version()).exists()


def _find_missing():
    """Approved samples of stored turns that have no exchange of these rules."""
    turns = DatasetSample.objects.approved().filter(
        sample_type=DatasetSample.Type.ANNOTATED_TURN, turn_number__isnull=False
    )
    return turns.exclude(turn_traits__contains="gone").exclude(exchange__rule=RULE)


def _find_unsearched(rules):
    return SampleExchange.objects.exclude(clean_rules=rules)


def _read_parts(rows, progress):
    """The rows in parts, none while an import runs, until another job waits or the process is to end."""
    is_begun, last = False, ""
    while not (progress.is_ending or (is_begun and JobRun.objects.filter(state=JobRun.State.QUEUED).exists())):
        is_begun = True
        if locks.is_held(settings.HOME_DIR / "state" / locks.COLLECTING):
            progress.update(progress.done)
            time.sleep(WAIT_SECONDS)
        elif part := list(rows.filter(pk__gt=last).order_by("pk")[:BATCH]):
            yield part
            last = part[-1].pk
        else:
            return


JOB = Kind(
    run=run,
    label=gettext_lazy("Store exchanges"),
    audit_text=gettext_lazy("started to store exchanges"),
    cancel_text=gettext_lazy("Exchanges already stored are kept; the next run continues."),
    schedule=Schedule("schedule.exchangeMinutes", MINUTE_MS, dict, is_needed),
)
