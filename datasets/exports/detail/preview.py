"""The first rows that an export would have, with every redacted place marked.

They are for the page that counts samples. Nothing is written. Duplicates and sides are not known yet.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from ...exporters import changes
from ...exporters.files.lines import encode_csv, encode_line
from ...exporters.markers import TokenNumbers
from ...exporters.outcomes import SampleOutcome
from ...exporters.prompts import get_no_prompts
from ...exporters.samples import UnreadableSample, read_sample, read_stored
from ...exporters.training_rows import build_rows, find_unfit_reason, is_taught
from ...models import DatasetSample
from ..builder.branches import read_branches
from ..builder.decision_verdicts import DecisionVerdicts
from ..builder.prompts import build_prompt_reader
from ..builder.redactions import Redaction
from ..builder.source import Source
from ..options import Options, check_options
from .lines import Line
from .row_view import RowView, build_row_view

ROWS, SESSIONS, SAMPLES = 5, 20, 40  # shown; read; of one session
SECONDS = 2.0


@dataclass(slots=True)
class Preview:
    """The first rows, preferably with redacted places, and counts of the rows that were built."""

    rows: list[RowView] = field(default_factory=list)
    built: int = 0
    redacted: int = 0  # rows with redacted places
    blocked: int = 0  # rows that an open key or password leaves out


def build_preview(options: Options) -> Preview:
    """Build the first rows of an export, for about two seconds.

    Raises Refused for options that cannot be exported. Personal data is always redacted here.
    """
    options = replace(options, include_pii=False)
    check_options(options)
    preview, plain = Preview(), []
    ends_at = time.monotonic() + SECONDS
    for outcome in _build_outcomes(options):
        if outcome.row is not None:
            _add_row(preview, plain, options, outcome)
        if len(preview.rows) >= ROWS or time.monotonic() > ends_at:
            break
    preview.rows += plain[: ROWS - len(preview.rows)]
    return preview


def _add_row(preview, plain, options, outcome):
    numbers = TokenNumbers()
    write = encode_csv if options.format == "csv" else encode_line
    data, _row, done = write(outcome.row, outcome.changes, numbers)
    preview.built += 1
    if changes.OPEN_FINDINGS in done & options.shape.withheld:
        preview.blocked += 1
        return
    view = build_row_view(Line(preview.built, data, is_csv=options.format == "csv"), options.format)
    view.sample_id = outcome.sample.sample_id  # rows of some formats have it in a file beside them
    preview.redacted += bool(numbers.places)
    if numbers.places:
        preview.rows.append(view)
    elif len(plain) < ROWS:
        plain.append(view)


def _build_outcomes(options) -> Iterator[SampleOutcome]:
    source = Source(options)
    redaction, verdicts = Redaction(options, source.list_agents()), DecisionVerdicts(options)
    sessions = ((agent, session, islice(rows, SAMPLES)) for agent, session, rows in source.read_sessions())
    chosen = islice(sessions, SESSIONS)
    prompts = build_prompt_reader(options, redaction.redactor)
    if options.shape.needs_branch:
        read = read_branches(chosen, redaction.redactor, prompts)
    else:
        read = ((*session, (), None) for session in chosen)
    for _agent_id, _session_id, rows, messages, given in read:
        find_given = given.find_prompts if given else get_no_prompts
        samples = _read_samples(options.shape, rows, redaction, verdicts)
        yield from build_rows(options.shape, samples, messages, find_given)


def _read_samples(shape, rows, redaction, verdicts):
    for row in rows:
        if not is_taught(shape, row["sample_type"]) or verdicts.overrules(row):
            continue
        try:
            sample = read_stored(row) if shape.is_stored else read_sample(row)
        except UnreadableSample:
            continue
        if find_unfit_reason(shape, sample) is None:
            sample.is_approved = row["annotation_status"] in DatasetSample.APPROVED
            yield redaction.samples.redact(sample, row)
