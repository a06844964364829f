"""Coverage in words: names of buckets, reasons, the lists with what would fill a gap, and all of it as data."""

from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.pages import states
from openclaw_web.pages.formatting import who

from ..words import TASK_NAMES
from .items import NONE
from .prices import MOST_PRICED, read_prices
from .shares import Bucket, Coverage, Scope, choose_next, measure

DIMENSION_WORDS = {
    "task": gettext_lazy("Teaches"),
    "agent": gettext_lazy("Agent"),
    "month": gettext_lazy("Month of the turn (UTC)"),
    "language": gettext_lazy("Language of the reply"),
    "length": gettext_lazy("Length of the reply"),
    "tool": gettext_lazy("Tool"),
    "score": gettext_lazy("Quality score"),
    "reviewer": gettext_lazy("Reviewed by"),
}
NONE_WORDS = {"tool": gettext_lazy("No tool"), "reviewer": gettext_lazy("Nobody")}
BUCKET_WORDS = {
    "task": TASK_NAMES,
    "language": {
        "chinese": gettext_lazy("Chinese"),
        "japanese": gettext_lazy("Japanese"),
        "korean": gettext_lazy("Korean"),
        "latin": gettext_lazy("Latin script"),
        "cyrillic": gettext_lazy("Cyrillic script"),
        "arabic": gettext_lazy("Arabic script"),
        "other": gettext_lazy("Another script, or no letters"),
    },
    "length": {
        "under_200": gettext_lazy("Under 200 characters"),
        "200_to_1000": gettext_lazy("200 to 1,000 characters"),
        "1000_to_4000": gettext_lazy("1,000 to 4,000 characters"),
        "over_4000": gettext_lazy("4,000 characters or more"),
    },
}


def describe_bucket(bucket: Bucket) -> str:
    """The words of a bucket, such as `Chinese` and `0.8 to 0.9`."""
    if bucket.name == NONE:
        return str(NONE_WORDS.get(bucket.dimension) or states.word("unknown"))
    if bucket.dimension == "score":
        return _("%(low)s to %(high)s") % {"low": int(bucket.name) / 10, "high": (int(bucket.name) + 1) / 10}
    if bucket.dimension == "reviewer":
        return who(bucket.name)
    return str(BUCKET_WORDS.get(bucket.dimension, {}).get(bucket.name, bucket.name))


def describe_reason(bucket: Bucket) -> str:
    """Why a sample fills a gap, in a sentence."""
    shares = {"traffic": f"{bucket.traffic or 0:.1%}", "share": f"{bucket.share:.1%}"}
    names = {"dimension": DIMENSION_WORDS[bucket.dimension], "bucket": describe_bucket(bucket)}
    return _("%(dimension)s: %(bucket)s, %(traffic)s of the traffic and %(share)s of the samples") % (names | shares)


def build_gap_address(bucket: Bucket, coverage: Coverage, query: str) -> str:
    """The turns of the agent or tool that would fill a gap; of others the waiting samples that would."""
    days = {"from": coverage.first_day, "to": coverage.last_day}
    turns = reverse("ledger:turn_list", args=[bucket.name] if bucket.dimension == "agent" else [])
    if bucket.dimension in ("agent", "tool") and bucket.name != NONE:
        return f"{turns}?{urlencode(days | ({'tool': bucket.name} if bucket.dimension == 'tool' else {}))}"
    gap = urlencode({"gap": f"{bucket.dimension}:{bucket.name}"})
    return f"{reverse('datasets:dataset_next')}?{query}&{gap}"


def build_report(scope: Scope, next_count: int = 0, *, is_whole: bool = False) -> dict[str, Any]:
    """Coverage, prices and the samples to judge next, as the API and the command give them.

    With more than MOST_PRICED samples, prices are null unless `is_whole`.
    """
    coverage = measure(scope)
    prices = read_prices(scope.find_samples()) if is_whole or coverage.sample_count <= MOST_PRICED else None
    return {
        "samples": coverage.sample_count,
        "turns": coverage.turn_count,
        "first_day": coverage.first_day,
        "last_day": coverage.last_day,
        "is_estimated": coverage.is_estimated,
        "buckets": [
            asdict(bucket) | {"label": describe_bucket(bucket), "is_gap": bucket.is_gap}
            for bucket in coverage.list_buckets()
        ],
        "price": prices and prices[0],
        "prices": prices and prices[1],
        "next": [
            {"sample_id": sample_id, "reason": describe_reason(bucket)}
            for sample_id, bucket in (choose_next(scope, coverage, next_count) if next_count else ())
        ],
    }
