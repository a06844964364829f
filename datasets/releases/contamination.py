"""Benchmarks: their word grams, and how much of them is in a dataset or an export."""

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any, Protocol

import orjson
import zstandard
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from ulid import ULID

from jobs import services as jobs
from jobs.kinds import Kind, as_json
from jobs.models import JobRun
from openclaw_web import clock
from openclaw_web.errors import Refused
from people.audit import log as audit

from ..dedup import signatures
from ..exports.options import check_name, read_options
from ..exports.row_samples import find_index, read_rows_of
from ..exports.source import LIMIT, ORDER, BenchmarkOverlap, Source, hash_grams
from ..models import Benchmark, Dataset, DatasetExport, DatasetVersion
from .dataset_store import build_options

MOST_GRAMS = 4_000_000  # 32 MB of hashes
MOST_UNSORTED = 5_000_000  # well above, so that a file of nearly that many is not sorted for each of its texts
PARTS = 16  # of the hashes, by their highest bits; sorting all at once would take ten times the memory
LONGEST_LINE = 4_000_000  # bytes
PART = 1_000_000  # bytes of a file that are read at a time
MOST_VALUES = 10_000  # texts of a line
JOB_KIND = "benchmark_report"
LISTED = 200  # samples above the limit
BINS = 10
COLUMNS = tuple(dict.fromkeys((*ORDER, *signatures.SAMPLE_COLUMNS)))
Subject = Dataset | DatasetVersion | DatasetExport


class Readable(Protocol):
    """A file that is read in parts."""

    def read(self, size: int, /) -> bytes: ...


def add_benchmark(name: str, lines: Iterable[bytes], *, by: str) -> Benchmark:
    """Store the grams of a benchmark.

    Its lines are JSON objects or texts; all texts in them count. Raises Refused for lines that are no JSON, for a file
    without a text of five words, and for one that is too large.
    Nothing is stored then.
    """
    if not name.strip():
        raise Refused(_("Enter a name for the benchmark."))
    name = check_name(name)
    if Benchmark.objects.filter(name=name).exists():
        raise Refused(_describe_taken(name))
    grams, digest, questions = array("Q"), hashlib.sha256(), 0
    for number, line in enumerate(lines, 1):
        digest.update(line)
        if not line.strip():
            continue
        questions += 1
        for text in _read_texts(line, number):
            grams.extend(hash_grams(text))
            if len(grams) > MOST_UNSORTED:
                grams = _sort(grams)
    grams = _sort(grams)
    if not grams:
        raise Refused(_("This file has no text of five words or more, so no row could be compared with it."))
    packed = zstandard.ZstdCompressor().compress(grams)
    del grams  # the database copies what it stores
    return _store(Benchmark(name=name, questions=questions, grams=packed, sha256=digest.hexdigest()), by)


def _store(row, by):
    row.id, row.added_by, row.added_at = str(ULID()), by, clock.now_ms()
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            audit.record(by, "benchmark_added", object_type="benchmark", object_id=row.id, name=row.name)
    except IntegrityError as exc:
        raise Refused(_describe_taken(row.name)) from exc
    return row


def split_lines(file: Readable) -> Iterator[bytes]:
    """The lines of a file, each with its end: LF, CR or both.

    Of a line that is too long, a piece is yielded that is too long as well.
    """
    rest = b""  # the last line stays here, as its CR may have its LF in the next part
    while part := file.read(PART):
        *lines, rest = (rest + part).splitlines(keepends=True)
        yield from lines
        if len(rest) > LONGEST_LINE:
            yield rest
            rest = b""
    if rest:
        yield rest


def _read_texts(line, number) -> Iterator[str]:
    """All texts in the JSON of a line."""
    if len(line) > LONGEST_LINE:
        raise Refused(_("Line %(number)s is too long. A line holds one question.") % {"number": f"{number:,}"})
    try:
        value = orjson.loads(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
    except orjson.JSONDecodeError as exc:
        raise Refused(_describe_line(number)) from exc
    if not isinstance(value, str | dict):
        raise Refused(_describe_line(number))
    waiting: list[Any] = [value]
    for count in range(MOST_VALUES):
        if not waiting:
            return
        current = waiting.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, dict):
            waiting.extend(current.values())
        elif isinstance(current, list):
            waiting.extend(current)
        if len(waiting) + count > MOST_VALUES:
            break
    raise Refused(_("Line %(number)s has more than %(most)s values.") % {"number": number, "most": f"{MOST_VALUES:,}"})


def _sort(grams):
    """The grams sorted, each once. Raises Refused when there are too many."""
    unique = array("Q")
    for part in range(PARTS):
        unique.extend(gram for gram, _same in groupby(sorted(gram for gram in grams if gram >> 60 == part)))
    if len(unique) > MOST_GRAMS:
        raise Refused(_("This file has more than %(most)s different word groups.") % {"most": f"{MOST_GRAMS:,}"})
    return unique


def _describe_line(number):
    sentence = _("Line %(number)s is no JSON object or text. A benchmark is a JSONL file: one question a line.")
    return sentence % {"number": f"{number:,}"}


def _describe_taken(name):
    return _("There is already a benchmark named %(name)s. Choose another name.") % {"name": name}


def start_report(benchmark: Benchmark, subject: Subject, *, by: str) -> JobRun:
    """Queue the report of a benchmark on a dataset, a release or an export."""
    name = {Dataset: "dataset", DatasetVersion: "version", DatasetExport: "export"}[type(subject)]
    params = {"benchmark_id": benchmark.id, "subject": name, "subject_id": subject.pk}
    return jobs.start(JOB_KIND, params, by=by)


def measure(benchmark: Benchmark, subject: Subject, progress: Any = None) -> dict[str, Any]:
    """Measure the share of a benchmark in each sample, as values of JSON.

    `above` counts samples with a text of which the benchmark has more than half, and `listed` has the first of them;
    `shares` counts all samples by tenths of the share.
    """
    overlap = BenchmarkOverlap(benchmark.id)
    result: dict[str, Any] = {"benchmark": benchmark.name, "samples": 0, "above": 0, "shares": [0] * BINS, "listed": []}
    for row in _read_samples(subject):
        share = overlap.measure_sample(row)
        result["samples"] += 1
        result["shares"][min(BINS - 1, int(share * BINS))] += 1
        if share > LIMIT:
            result["above"] += 1
            if len(result["listed"]) < LISTED:
                result["listed"].append(
                    {"sample": row["id"], "share": round(share, 3), **_find_row(subject, row["id"])}
                )
        if progress and result["samples"] % 1_000 == 0:
            progress.update(result["samples"])
    sentence = ngettext(
        "%(above)s of %(count)s sample has a text of which the benchmark has more than half.",
        "%(above)s of %(count)s samples have a text of which the benchmark has more than half.",
        result["samples"],
    )
    return result | {"message": (sentence % {"above": f"{result['above']:,}", "count": f"{result['samples']:,}"})}


def _run(params, progress):
    models: dict[str, type[Subject]] = {"dataset": Dataset, "version": DatasetVersion, "export": DatasetExport}
    benchmark = Benchmark.objects.filter(id=params["benchmark_id"]).first()
    subject = models[params["subject"]]._default_manager.filter(pk=params["subject_id"]).first()
    if benchmark is None or subject is None:
        raise Refused(_("The benchmark or what was to be compared with it does not exist any more."))
    return measure(benchmark, subject, progress)


def _read_samples(subject: Subject) -> Iterator[dict[str, Any]]:
    """The samples of a dataset's options, of a release, or of an export's files."""
    has_index = isinstance(subject, DatasetExport) and find_index(subject.id).is_file()
    for batch in Source(_find_options(subject)).read_batches(COLUMNS, "content"):
        for values in batch:
            row = dict(zip(COLUMNS, values, strict=True))
            if not has_index or read_rows_of(subject.pk, row["id"]):
                yield row


def _find_options(subject):
    # The filter asks for samples of today; those of an export or a release were chosen when it was created.
    if isinstance(subject, DatasetExport):
        return replace(read_options(subject), sample_filter="")
    choices = {**subject.options, "benchmark": None}
    options = build_options(choices)
    return replace(options, release=subject.id, sample_filter="") if isinstance(subject, DatasetVersion) else options


def _find_row(subject, sample_id):
    """The first row of an export with a sample."""
    rows = read_rows_of(subject.id, sample_id) if isinstance(subject, DatasetExport) else None
    return {"side": rows[0][0], "row": rows[0][1]} if rows else {}


JOB = Kind(
    run=_run,
    label=gettext_lazy("Benchmark report"),
    audit_text=gettext_lazy("started a benchmark report"),
    cancel_text=gettext_lazy("No result is recorded."),
    describe_result=as_json,
)
