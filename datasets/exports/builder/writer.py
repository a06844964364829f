"""Writes the files of an export, and the manifest that describes them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import ngettext

from openclaw_web.errors import Refused
from people.configuration.catalogue import SECRET_WORDS

from ...dedup import signatures
from ...dedup.split_plan import DOMINANT_SET, DUPLICATE, SplitPlan
from ...dedup.texts import compute_identity
from ...exporters import changes
from ...exporters.changes import NO_CHANGES
from ...exporters.conversations.histories import CONTEXT
from ...exporters.conversations.spelling import BrokenRule
from ...exporters.conversations.turns import KEEP, BranchMessage
from ...exporters.files import checksums, output_files
from ...exporters.files.file_names import dataset_name, file_name
from ...exporters.files.lengths import Lengths, measure_row
from ...exporters.files.lines import build_head, encode_csv, encode_line
from ...exporters.files.trainers import WrittenRows, build_trainer_files, dump_document
from ...exporters.formats import openai, table
from ...exporters.formats.checks import COLUMNS, find_broken_rules
from ...exporters.formats.readers import list_checks
from ...exporters.prompts import get_no_prompts
from ...exporters.samples import ExportSample, UnreadableSample, read_sample, read_stored
from ...exporters.training_rows import OVERRULED, build_rows, find_unfit_reason, is_taught
from ...models import DatasetSample
from .. import words
from ..options import Options
from . import splits
from .card import README, build_card
from .decision_verdicts import DecisionVerdicts
from .prompts import PromptCounts, SessionPrompts
from .source import LISTED, find_other_task

PROFILE, NO_PROFILE = "strict", "stored"
CHANGED = "changed"  # the reason for a sample that the plan was made without
RULES = 2  # the version of the rules of what may be taught, in the manifest and the card
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
        kinds: Set[str] = frozenset(),
    ):
        self.options = options
        self.name = name
        self.plan = plan
        self.verdicts = verdicts
        self.side = splits.TRAIN  # of the session that is being written
        self.dataset = dataset_name(name, options.format)
        self.kinds = kinds  # of secrets that count
        withheld = frozenset() if options.include_flagged else frozenset(map(changes.build_secret_change, kinds))
        self.shape = replace(options.shape, withheld=options.shape.withheld | withheld)
        self.folder = folder
        self.excluded = excluded
        self.files: dict[str, output_files.RowFile] = {}
        self.sources: dict[str, output_files.RowFile] = {}  # where rows come from, where they cannot say it themselves
        self.seen = self.rows = self.samples = self.sessions = self.approved = self.scored = 0
        self.score = 0.0
        self.only_words = 0  # rows in which only words were found, no secret by its shape
        self.changes: Counter[str] = Counter()
        self.secrets: Counter[str] = Counter()  # rows with each kind, withheld or not
        self.changed: defaultdict[str, list[str]] = defaultdict(list)  # the first samples of each change
        self.lengths = Lengths()
        self.prompts = PromptCounts()
        self.broken: list[dict[str, str]] = []
        self.broken_rows = 0

    def add_session(
        self,
        _agent_id: str,
        _session_id: str,
        rows: Iterable[dict[str, Any]],
        messages: Iterable[BranchMessage] = (),
        prompts: SessionPrompts | None = None,
    ) -> Iterator[int]:
        """Write the rows of one session's samples; yields now and then how many samples were seen."""
        before, reported = self.rows, self.seen
        find_given = prompts.find_prompts if prompts else get_no_prompts
        for outcome in build_rows(
            self.shape, self._read_fitting(rows), messages, find_given, self._is_taught_elsewhere
        ):
            self._add_row(outcome)
            if self.seen >= reported + STEP:
                reported = self.seen
                yield reported
        self.sessions += self.rows > before

    def finish(self) -> None:
        """Complete the files. Raises Refused when a row breaks a rule, or when there is none."""
        written = {side: self.files[side].finish() for side in splits.SIDES if side in self.files}
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
        for file in (*self.files.values(), *self.sources.values()):
            file.close()

    def _write_descriptions(self, written):
        """Write the files beside the rows.

        Each describes those before it; the checksums are the last one.
        """
        history = self.shape.history if self.shape.has_history else ""
        filled = self.prompts.filled
        columns = {"has_system": filled["system"] == self.rows, "has_tools": filled["tools"] > 0}
        written_rows = WrittenRows(
            self.dataset, self.options.format, tuple(written), history, **columns, above=self.lengths.above
        )
        manifest = self._build_manifest(written)
        sources = [self.sources[side].finish() for side in splits.SIDES if side in self.sources]
        files = [
            *written.values(),
            *sources,
            *(self._write_file(name, data) for name, data in build_trainer_files(written_rows)),
        ]
        manifest["files"] = [facts.as_json() for facts in files]
        files.append(self._write_file(README, build_card(self.name, written_rows, manifest)))
        manifest["files"] = [facts.as_json() for facts in files]
        files.append(self._write_file("manifest.json", dump_document(manifest)))
        self._write_file(
            checksums.CHECKSUM_FILE, checksums.format_checksums((facts.name, facts.sha256) for facts in files)
        )

    def _write_file(self, name, data):
        return output_files.write_text(self.folder / name, data)

    def _read_fitting(self, rows) -> Iterator[ExportSample]:
        """The samples that have something to teach.

        The others are noted as excluded, or as broken.
        """
        for row in rows:
            self.seen += 1
            if not is_taught(self.shape, row["sample_type"]):
                self._note_excluded("not_a_turn", row["id"])
                continue
            if self.verdicts.overrules(row):
                self._note_excluded(OVERRULED, row["id"])
                continue
            try:
                sample = read_stored(row) if self.shape.is_stored else read_sample(row)
            except UnreadableSample:
                self._note_broken(row["id"], [BrokenRule("unreadable")])
                continue
            if reason := find_unfit_reason(self.shape, sample):
                self._note_excluded(reason, sample.sample_id)
                continue
            sample.is_approved = row["annotation_status"] in DatasetSample.APPROVED
            if self._is_planned(sample):
                yield sample

    def _is_planned(self, sample):
        """Whether the plan has the sample as it is now; also sets its side.

        A sample that is new or edited since the plan was made is left out.
        """
        current_identity = compute_identity(*signatures.read_pair(sample))
        assignment = self.plan.find_assignment(sample.sample_id, current_identity)
        if assignment is None:
            self._note_excluded(CHANGED, sample.sample_id)
            signatures.delete_signature(sample.sample_id, unless=current_identity)
        else:
            sample.is_duplicate = assignment >= DUPLICATE
            self.side = splits.SIDES[assignment % DUPLICATE]  # the same for all of a session
        return assignment is not None

    def _is_taught_elsewhere(self, pairs):
        return self.plan.is_taught_elsewhere(splits.SIDES.index(self.side), pairs)

    def _add_row(self, outcome):
        sample = outcome.sample
        if outcome.row is None:
            if outcome.left_out == changes.SECRETS_FOUND:
                self._count_secrets(outcome.changes)
            self._note_excluded(outcome.left_out, sample.sample_id)
            return
        write = encode_csv if self.options.format == "csv" else encode_line
        line, row, done = write(outcome.row, outcome.changes)
        reason = changes.choose_reason(self.shape.withheld & done)
        done = self._count_secrets(done)
        if reason:
            self._note_excluded(reason, sample.sample_id)
            return
        if broken := find_broken_rules(self.shape.format, row):
            self._note_broken(sample.sample_id, broken)
            return
        self._open_file(self.side).add(line, row)
        if self.options.format == "openai":
            self._open_source(self.side).add(*encode_line(openai.build_source(outcome), NO_CHANGES)[:2])
        self.rows += 1
        if not self.shape.is_stored:
            self.lengths.add_row(*measure_row(row))
        self.changes.update(done)
        for name in done:
            if len(self.changed[name]) < CHANGED_LISTED:
                self.changed[name].append(sample.sample_id)
        self.prompts.count(outcome)
        for taught in (*outcome.others, sample):
            self._count_sample(taught)

    def _count_secrets(self, done):
        """Count the kinds of secrets among changes.

        Returns the changes, with one name for all kinds that count.
        """
        kinds = changes.find_secret_kinds(done)
        counted = kinds & self.kinds
        self.secrets.update(counted)
        self.only_words += bool(counted) and counted <= SECRET_WORDS
        done = done - set(map(changes.build_secret_change, kinds))
        return done | {changes.SECRETS_FOUND} if counted or changes.OUTPUT_FLAGGED in done else done

    def _count_sample(self, sample):
        self.samples += 1
        self.approved += sample.is_approved
        if sample.quality_score is not None:
            self.scored += 1
            self.score += sample.quality_score

    def _open_file(self, side):
        if side not in self.files:
            path = self.folder / file_name(self.dataset, side, self.options.format)
            begin = build_head(self.options.format, table.COLUMNS)
            self.files[side] = output_files.RowFile(path, COLUMNS.get(self.options.format, ()), begin)
        return self.files[side]

    def _open_source(self, side):
        if side not in self.sources:
            path = self.files[side].path
            self.sources[side] = output_files.RowFile(path.with_suffix(f".sources{path.suffix}"))
        return self.sources[side]

    def _note_excluded(self, reason, sample_id):
        group = self.excluded.setdefault(reason, {"count": 0, "samples": []})
        group["count"] += 1
        if len(group["samples"]) < LISTED:
            group["samples"].append(sample_id)

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
            "counts": self._build_counts(written),
            "files": [],
            "largest_set": {"samples": self.plan.largest_set, "of": self.plan.samples},
            "empty_sides": [side for side in splits.list_sides(self.options.validation_split) if side not in written],
            "excluded": [{"reason": reason, **group} for reason, group in self.excluded.items()],
            "secrets": {
                "kinds": dict(sorted(self.secrets.items())),
                "only_words": self.only_words,
                "withheld_kinds": sorted(self.kinds),
            },
            "transformations": dict(sorted(self.changes.items())),
            "transformed_samples": dict(sorted(self.changed.items())),
            "lengths": None if self.shape.is_stored else self.lengths.as_json(),
            "checks": self._list_checks(),
            "notes": self._list_notes(written),
            **({"prompts": self.prompts.as_json()} if self.options.fills_prompts else {}),
            "checksums": checksums.CHECKSUM_FILE,
        }

    def _list_checks(self):
        """The checks that every row went through."""
        is_marked = self.shape.has_history and self.shape.history == CONTEXT
        has_tools = self.shape.has_history and self.options.tool_calls == KEEP
        return list_checks(self.options.format, is_marked=is_marked, has_tools=has_tools)

    def _list_notes(self, written):
        """Notes for readers of the files that do not prevent their use."""
        notes = [DOMINANT_SET] if self.options.is_split and self.plan.has_dominant_set else []
        if self.options.format == "openai":
            training = written[splits.TRAIN].rows if splits.TRAIN in written else 0
            notes += openai.find_notes(training, max(file.bytes for file in written.values()))
        return notes

    def _build_counts(self, written):
        return {
            "rows": self.rows,
            "samples": self.samples,
            **{side: written[side].rows if side in written else 0 for side in splits.SIDES},
            "sessions": self.sessions,
            "approved": self.approved,
            "excluded": sum(group["count"] for group in self.excluded.values()),
            "average_quality": round(self.score / self.scored, 6) if self.scored else None,
        }
