"""The shares of buckets in a dataset beside those in the traffic of its agents, and the samples that close gaps."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.lists.filter_line import spell

from ..exports.options import NEUTRAL_FORMAT, Options, check_options
from ..exports.source import Samples, Source
from ..models import Dataset, DatasetVersion
from ..releases import dataset_store
from ..review.queues import WAITING
from ..sample_list import SampleFilters, read_sample_filter
from .items import MOST_READ, Item, read_samples, read_traffic

DIMENSIONS = ("task", "agent", "month", "language", "length", "tool", "score", "reviewer")
OF_SAMPLES = ("score", "reviewer")  # without a share in the traffic
IN_ORDER = ("month", "score")  # by bucket, others by share
MOST_BUCKETS = 30  # of a dimension
GAP_TRAFFIC, GAP_PART = 0.05, 0.5  # a gap: more than this share of the traffic, and less than this part of it
OF_VERDICTS = ("status", "by", "judged", "reason", "edited")  # filters that no waiting sample fits
MOST_CANDIDATES = 2_000  # waiting samples, evenly spread
MOST_NEXT = 500


@dataclass(frozen=True, slots=True)
class Scope:
    """The samples to measure: those that fit some options, or the members of a release as an export has them today."""

    options: Options
    dataset: Dataset | None = None
    version: DatasetVersion | None = None

    def find_samples(self) -> Samples:
        """The samples to measure, without an order."""
        return Source(self.options).chosen.order_by()

    def find_waiting(self) -> Samples:
        """The samples that nobody approved or rejected and that fit otherwise."""
        options = dataset_store.build_options(self.version.options) if self.version else self.options
        filters = read_sample_filter(options.sample_filter)
        address = urlencode({name: filters.data[name] for name in filters.chosen if name not in OF_VERDICTS})
        line = spell(SampleFilters(QueryDict(address)).validate())
        fitting = Source(
            replace(options, only_approved=False, benchmark=None, min_quality=None, sample_filter=line)
        ).chosen
        return fitting.filter(annotation_status__in=WAITING).order_by()


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket with its samples and its shares; `traffic` is None where the traffic has no such share."""

    dimension: str
    name: str
    count: int
    share: float
    traffic: float | None

    @property
    def is_gap(self) -> bool:
        return self.traffic is not None and self.traffic > GAP_TRAFFIC and self.share < GAP_PART * self.traffic


@dataclass(slots=True)
class Tally:
    """Weights of buckets, and of all items that have a bucket of a dimension."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    totals: Counter[str] = field(default_factory=Counter)

    def add(self, item: Item) -> None:
        for key in item.buckets:
            self.counts[key] += item.weight
        for dimension in {dimension for dimension, _name in item.buckets}:
            self.totals[dimension] += item.weight

    def compute_share(self, dimension: str, name: str) -> float:
        total = self.totals[dimension]
        return self.counts[dimension, name] / total if total else 0.0


@dataclass(slots=True)
class Coverage:
    """The samples of a scope beside the traffic of their agents from their first to their last day."""

    sample_count: int
    first_day: str = ""
    last_day: str = ""
    samples: Tally = field(default_factory=Tally)
    traffic: Tally = field(default_factory=Tally)
    text_hashes: set[bytes] = field(default_factory=set)
    turn_count: int = 0
    is_estimated: bool = False  # some samples or turns stand for others

    def list_buckets(self) -> list[Bucket]:
        """All buckets of all dimensions; of many the ones with the largest shares."""
        groups = defaultdict(list)
        for dimension, name in self.samples.counts.keys() | self.traffic.counts.keys():
            is_compared = dimension not in OF_SAMPLES and self.traffic.totals[dimension]
            traffic = self.traffic.compute_share(dimension, name) if is_compared else None
            share = self.samples.compute_share(dimension, name)
            groups[dimension].append(Bucket(dimension, name, self.samples.counts[dimension, name], share, traffic))
        buckets = []
        for dimension in DIMENSIONS:
            shares = {bucket: max(bucket.share, bucket.traffic or 0) for bucket in groups[dimension]}
            largest = sorted(shares, key=lambda bucket, shares=shares: (-shares[bucket], bucket.name))[:MOST_BUCKETS]
            buckets += sorted(largest, key=lambda bucket: bucket.name) if dimension in IN_ORDER else largest
        return buckets


def build_scope(dataset: str = "", number: int | None = None, task: str = "reply", sample_filter: str = "") -> Scope:
    """The approved samples of a dataset (its name or id), the members of its release, or what fits a filter.

    Raises Refused where there is no such thing.
    """
    if not dataset:
        if number is not None:
            raise Refused(_("Name the dataset of the release."))
        options = Options(format=NEUTRAL_FORMAT, task=task, sample_filter=sample_filter)
        check_options(options)
        return Scope(options)
    stored = dataset_store.find_dataset(dataset)
    if number is None:
        options = dataset_store.build_options(stored.options)
        return Scope(replace(options, only_approved=True, benchmark=None), stored)
    version = dataset_store.find_version(stored, number)
    options = dataset_store.build_options(version.options)
    return Scope(replace(options, release=version.id, agent=None, sample_filter=""), stored, version)


def measure(scope: Scope) -> Coverage:
    """Count the samples and the traffic of a scope, evenly spread where there are many."""
    samples = scope.find_samples()
    count = samples.count()
    coverage, days = Coverage(count, is_estimated=count > MOST_READ), set[str]()
    for item in read_samples(samples, count, MOST_READ):
        coverage.samples.add(item)
        coverage.text_hashes.add(item.text_hash)
        days.add(item.day)
    agents = sorted(name for dimension, name in coverage.samples.counts if dimension == "agent")
    if days := days - {""}:
        coverage.first_day, coverage.last_day = min(days), max(days)
        for item in read_traffic(agents, scope.options.sample_types, coverage.first_day, coverage.last_day):
            coverage.traffic.add(item)
            coverage.is_estimated |= item.id != "" and item.weight > 1
        coverage.turn_count = coverage.traffic.totals["agent"]
    return coverage


def choose_next(
    scope: Scope, coverage: Coverage, count: int, gap: tuple[str, str] | None = None
) -> list[tuple[str, Bucket]]:
    """The ids of the waiting samples that fill the gaps best, each with the bucket that lacks it most at that moment.

    With `gap` they are those of that bucket. Each choice counts as if it were approved. Of samples with the same words
    there is one, and none when the dataset has these words.
    """
    waiting = scope.find_waiting()
    hashes, candidates = coverage.text_hashes - {b""}, []
    for item in read_samples(waiting, waiting.count(), MOST_CANDIDATES):
        if item.text_hash not in hashes and (gap is None or gap in item.buckets):
            candidates.append(item)
            hashes |= {item.text_hash} - {b""}
    samples = Tally(coverage.samples.counts.copy(), coverage.samples.totals.copy())
    picks: list[tuple[str, Bucket]] = []
    while candidates and len(picks) < count:
        shares = {
            key: (samples.compute_share(*key), coverage.traffic.compute_share(*key)) for key in coverage.traffic.counts
        }
        lacking = {key: traffic - share for key, (share, traffic) in shares.items()}

        def rank(item: Item, lacking: dict[tuple[str, str], float] = lacking) -> tuple[float, float]:
            gaps = [lacking.get(key, 0.0) for key in item.buckets]
            return max(gaps), sum(gaps)

        best = max(candidates, key=rank)
        if rank(best)[0] <= 0:
            break
        key = max(sorted(best.buckets), key=lambda key: lacking.get(key, 0.0))
        picks.append((best.id, Bucket(*key, samples.counts[key], *shares[key])))
        samples.add(replace(best, weight=1))
        candidates.remove(best)
    return picks
