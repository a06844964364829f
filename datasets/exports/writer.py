"""Writes the files of an export, and the manifest that describes them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import ngettext

from openclaw_web.errors import Refused

from ..dedup import signatures
from ..dedup.split_plan import DOMINANT_SET, MOVING_SIDES, SplitPlan
from ..dedup.texts import compute_identity
from ..markers import TokenNumbers
from ..models import BY_SET
from ..sample_texts import ExportSample
from . import changes, words
from .branches import Message
from .card import CROISSANT_FILE, README, build_card, build_croissant, read_release
from .changes import NO_CHANGES
from .dialects import BrokenRule
from .files import (
    CHECKSUM_FILE,
    Lengths,
    ParquetFile,
    RowFile,
    build_head,
    dataset_name,
    encode_csv,
    encode_line,
    file_name,
    format_checksums,
    measure_row,
    write_text,
)
from .formats import COLUMNS, FORMATS, WEIGHT, WEIGHTED, find_notes
from .histories import CONTEXT
from .options import Options
from .plan import SIDES, TRAIN, list_sides
from .prompt_columns import get_no_prompts
from .prompts import PromptCounts, SessionPrompts
from .redactions import UNSCANNED, Redaction
from .row_samples import Lineage, RowIndex
from .rows import NOT_A_TURN, UNREADABLE, build_rows, build_source, read_fitting
from .rules import find_broken_rules, list_checks
from .source import LISTED, DecisionVerdicts, find_other_task, note_excluded
from .trainers import ENTRIES, INFO_FILE, WrittenRows, build_dataset_info, dump_document
from .turns import LEAVE_OUT

PROFILE, NO_PROFILE = "strict", "stored"
CHANGED = "changed"  # the reason for a sample that the plan was made without
RULES = 3  # the version of the rules of what may be taught, in the manifest and the card
CHANGED_LISTED = 20  # samples of each change
STEP = 100  # samples between two reports of progress


class ExportWriter:
    """Writes one export into a folder, session by session, and counts its rows.

    `name`: the name that its files repeat.
    """

    def __init__(
        self,
        options: Options,
        folder: Path,
        excluded: dict[str, dict[str, Any]],
        name: str,
        plan: SplitPlan,
        verdicts: DecisionVerdicts,
        redaction: Redaction,
    ):
        self.options = options
        self.name = name
        self.plan = plan
        self.verdicts = verdicts
        self.side = TRAIN  # of the session that is being written
        self.dataset = dataset_name(name, options.format)
        self.redaction = redaction
        self.shape = options.shape
        has_weights = options.weights and options.format in WEIGHTED
        self.columns = (*FORMATS[options.format].columns, *([WEIGHT] if has_weights else []))
        self.folder = folder
        self.excluded = excluded
        self.files: dict[str, RowFile | ParquetFile] = {}
        self.sources: dict[str, RowFile] = {}  # where rows come from, where they cannot say it themselves
        self.row_index = RowIndex()
        self.lineage = Lineage(folder, options.release) if options.release else None
        self.seen = self.rows = self.samples = self.sessions = self.approved = self.scored = 0
        self.score = 0.0
        self.changes: Counter[str] = Counter()
        self.changed: defaultdict[str, list[str]] = defaultdict(list)  # the first samples of each change
        self.lengths = Lengths()
        self.labels: Counter[bool] = Counter()  # of rows for training
        self.judges: Counter[str] = Counter()
        self.prompts = PromptCounts()
        self.broken: list[dict[str, str]] = []
        self.broken_rows = 0

    def add_session(
        self,
        _agent_id: str,
        _session_id: str,
        rows: Iterable[dict[str, Any]],
        messages: Iterable[Message] = (),
        prompts: SessionPrompts | None = None,
    ) -> Iterator[int]:
        """Write the rows of one session's samples; yields now and then how many samples were seen."""
        before, reported = self.rows, self.seen
        find_given = prompts.find_prompts if prompts else get_no_prompts
        for outcome in build_rows(
            *(self.shape, self._read_fitting(rows), messages, find_given),
            lambda pairs: self.plan.is_taught_elsewhere(SIDES.index(self.side), pairs),
        ):
            self._add_row(outcome)
            if self.seen >= reported + STEP:
                reported = self.seen
                yield reported
        self.sessions += self.rows > before

    def finish(self) -> None:
        """Complete the files. Raises Refused when a row breaks a rule, or when there is none."""
        written = {side: self.files[side].finish() for side in SIDES if side in self.files}
        for side, file in self.files.items():
            for column in sorted(file.dates.date_columns):
                self._note_broken(written[side].name, [BrokenRule("dates", column)])
        self.refuse_broken()
        if not written:
            sentence = words.describe_nothing_left(self.excluded, other_task=find_other_task(self.options))
            raise Refused(sentence, reasons=words.describe_left_out(self.excluded)[:LISTED])
        self._write_descriptions(written)

    def refuse_broken(self) -> None:
        """Raise Refused when a row breaks a rule of trainers."""
        if not self.broken_rows:
            return
        sentence = ngettext(
            "%(count)s row breaks a rule of trainers, so nothing was written. Correct or reject its sample, "
            "then export again.",
            "%(count)s rows break a rule of trainers, so nothing was written. Correct or reject their "
            "samples, then export again.",
            self.broken_rows,
        )
        raise Refused(
            sentence % {"count": f"{self.broken_rows:,}"}, reasons=words.describe_broken_rows(self.broken[:LISTED])
        )

    def close(self) -> None:
        """Stop writing, complete or not."""
        for file in (*self.files.values(), *self.sources.values(), *([self.lineage] if self.lineage else [])):
            file.close()

    def _write_descriptions(self, written):
        """Write the files beside the rows.

        Each describes those before it; the checksums are the last one.
        """
        history = self.shape.history if self.shape.has_history else ""
        filled = self.prompts.filled
        written_rows = WrittenRows(
            self.dataset,
            self.options.format,
            tuple(written),
            history,
            has_system=filled["system"] == self.rows,
            has_tools=filled["tools"] > 0,
            has_calls=self.prompts.calling > 0,
            above=self.lengths.above,
            labels=self.labels,
        )
        manifest = self._build_manifest(written)
        files = [*written.values(), *(self.sources[side].finish() for side in SIDES if side in self.sources)]
        if written_rows.kind in ENTRIES:
            info = build_dataset_info(written_rows.dataset, written_rows.kind, written_rows.files)
            files.append(self._write_file(INFO_FILE, dump_document(info)))
        if self.lineage:
            document = build_croissant(manifest["release"], written, self.columns)
            files += [self.lineage.finish(), self._write_file(CROISSANT_FILE, document)]
        manifest["files"] = [facts.as_json() for facts in files]
        files.append(self._write_file(README, build_card(self.name, written_rows, manifest)))
        manifest["files"] = [facts.as_json() for facts in files]
        files.append(self._write_file("manifest.json", dump_document(manifest)))
        self._write_file(CHECKSUM_FILE, format_checksums((facts.name, facts.sha256) for facts in files))

    def _write_file(self, name, data):
        return write_text(self.folder / name, data)

    def _read_fitting(self, rows) -> Iterator[ExportSample]:
        """The samples that have something to teach.

        The others are noted as excluded, or as broken.
        """
        for row in rows:
            self.seen += 1
            sample = read_fitting(self.shape, row, self.verdicts)
            if sample != NOT_A_TURN and self.redaction.is_unscanned(row["agent_id"], row["session_id"]):
                note_excluded(self.excluded, UNSCANNED, row["id"])
            elif sample == UNREADABLE:
                self._note_broken(row["id"], [BrokenRule("unreadable")])
            elif isinstance(sample, str):
                note_excluded(self.excluded, sample, row["id"])
            elif self._is_planned(sample):
                yield self.redaction.redact_sample(sample, row)

    def _is_planned(self, sample):
        """Whether the plan has the sample as it is now; also sets its side.

        A sample that is new or edited since the plan was made is left out.
        """
        current_identity = compute_identity(*signatures.read_pair(sample))
        assignment = self.plan.find_assignment(sample.sample_id, current_identity)
        if assignment is None:
            note_excluded(self.excluded, CHANGED, sample.sample_id)
            signatures.delete_signature(sample.sample_id, unless=current_identity)
        else:
            side, sample.left_out, size = assignment
            sample.weight = round(1 / max(1, size), 6)
            self.side = SIDES[side]  # the same for all of a session
        return assignment is not None

    def _add_row(self, outcome):
        sample = outcome.sample
        if outcome.row is None:
            note_excluded(self.excluded, outcome.left_out, sample.sample_id)
            return
        if WEIGHT in self.columns:
            outcome.row[WEIGHT] = sample.weight if self.shape.is_stored else str(sample.weight)
        write = encode_csv if self.options.format == "csv" else encode_line
        numbers = TokenNumbers()
        line, row, done = write(outcome.row, outcome.changes, numbers)
        source = None
        if not FORMATS[self.options.format].has_place:
            source = encode_line(build_source(outcome), NO_CHANGES, numbers)[:2]
            done |= numbers.changes
        if reason := changes.choose_reason(self.shape.withheld & done):
            note_excluded(self.excluded, reason, sample.sample_id)
            return
        if broken := find_broken_rules(self.shape.format, row):
            self._note_broken(sample.sample_id, broken)
            return
        file = self._open_file(self.side)
        file.add(line, row)
        samples = [*outcome.others, sample]
        self.row_index.add(self.side, file.rows, [taught.sample_id for taught in samples])
        if self.lineage:
            self.lineage.add(file.path.name, file.rows, samples)
        if source:
            if self.side not in self.sources:
                path = file.path.with_suffix(f".sources{file.path.suffix}")
                self.sources[self.side] = RowFile(path)
            self.sources[self.side].add(*source)
        if self.side == TRAIN and "label" in row:
            self.labels[row["label"]] += 1
        self.redaction.count_row(numbers)
        self.rows += 1
        if not self.shape.is_stored:
            self.lengths.add_row(*measure_row(row))
        self.changes.update(done)
        for name in done:
            if len(self.changed[name]) < CHANGED_LISTED:
                self.changed[name].append(sample.sample_id)
        self.prompts.count(outcome)
        self.samples += len(samples)
        self.approved += sum(taught.is_approved for taught in samples)
        self.judges.update(taught.judged_by for taught in samples)
        scores = [taught.quality_score for taught in samples if taught.quality_score is not None]
        self.scored += len(scores)
        self.score = sum(scores, self.score)

    def _open_file(self, side):
        if side not in self.files:
            path = self.folder / file_name(self.dataset, side, self.options.format)
            if self.options.format == "parquet":
                self.files[side] = ParquetFile(path, self.columns, is_marked=self._is_marked())
            else:
                self.files[side] = RowFile(
                    path, COLUMNS.get(self.options.format, ()), build_head(self.options.format, self.columns)
                )
        return self.files[side]

    def _note_broken(self, row_id, broken):
        self.broken_rows += 1
        if len(self.broken) < LISTED:
            self.broken += [
                {"id": row_id, "rule": broken_rule.rule, "place": broken_rule.place} for broken_rule in broken
            ]

    def _build_manifest(self, written):
        options = asdict(self.options)
        return {
            "format": options.pop("format"),
            "task": options.pop("task"),
            "dataset": self.dataset,
            "profile": NO_PROFILE if self.shape.is_stored else PROFILE,
            "rules": RULES,
            "app": {"name": "openclaw-web", "version": settings.VERSION},
            "options": options,
            **({"release": read_release(self.options.release)} if self.options.release else {}),
            "counts": self._build_counts(written),
            "files": [],
            "largest_set": {"samples": self.plan.largest_set, "of": self.plan.samples},
            "empty_sides": [side for side in list_sides(self.options.validation_split) if side not in written],
            "excluded": [{"reason": reason, **group} for reason, group in self.excluded.items()],
            "redactions": self.redaction.as_json(self.excluded),
            "transformations": dict(sorted(self.changes.items())),
            "transformed_samples": dict(sorted(self.changed.items())),
            "lengths": None if self.shape.is_stored else self.lengths.as_json(),
            "checks": list_checks(
                self.options.format,
                is_marked=self._is_marked(),
                has_tools=self.shape.has_history and self.options.tool_calls != LEAVE_OUT,
            ),
            "notes": self._list_notes(written),
            **({"prompts": self.prompts.as_json()} if self.shape.has_history else {}),
            "checksums": CHECKSUM_FILE,
        }

    def _is_marked(self):
        """Whether messages say what is to be learned."""
        return self.shape.has_history and self.shape.history == CONTEXT

    def _list_notes(self, written):
        """Notes for readers of the files that do not prevent their use."""
        notes = [MOVING_SIDES] if self.options.is_split else []
        notes += [DOMINANT_SET] if self.options.is_split and self.plan.has_dominant_set else []
        if not FORMATS[self.options.format].has_place:
            training = written[TRAIN].rows if TRAIN in written else 0
            notes += find_notes(training, max(file.bytes for file in written.values()))
        return notes

    def _build_counts(self, written):
        return {
            "rows": self.rows,
            "samples": self.samples,
            **{side: written[side].rows if side in written else 0 for side in SIDES},
            "sessions": self.sessions,
            "approved": self.approved,
            "judged_by_person": self.judges["person"],
            "judged_by_rule": self.judges["rule"],
            "judged_by_set": self.judges[BY_SET],
            "excluded": sum(group["count"] for group in self.excluded.values()),
            "average_quality": round(self.score / self.scored, 6) if self.scored else None,
        }
