"""From samples to the files of an export and the manifest that says what is in them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import ngettext

from openclaw_web.errors import Refused

from ...exporters.conversations.exchanges import Broken
from ...exporters.conversations.histories import CONTEXT
from ...exporters.conversations.turns import Said
from ...exporters.files import writing
from ...exporters.files.dataset_info import dataset_info, file_name, masked_history
from ...exporters.files.lines import as_line
from ...exporters.formats.checks import COLUMNS, broken_rules
from ...exporters.formats.readers import compared
from ...exporters.lengths import Lengths, lengths_of
from ...exporters.samples import ExportSample, Unreadable, read_sample
from ...exporters.training_rows import rows_of, unfit
from ...models import DatasetSample
from .. import words
from ..options import Options
from . import splits
from .source import LISTED

PROFILE = "strict"
RULES = 2  # what may be taught; exports without the number may teach the words of people as results of tools
CHANGED_LISTED = 20  # samples of each change
STEP = 100  # samples between two reports of progress


class ExportWriter:
    """Writes one export into a folder, session by session, and keeps count."""

    def __init__(self, options: Options, folder: Path, excluded: dict[str, dict[str, Any]]):
        self.options = options
        self.shape = options.shape
        self.folder = folder
        self.excluded = excluded
        self.files: dict[str, writing.RowFile] = {}
        self.seen = self.rows = self.samples = self.sessions = self.approved = self.scored = 0
        self.score = 0.0
        self.changes: Counter[str] = Counter()
        self.changed: defaultdict[str, list[str]] = defaultdict(list)  # the first samples of each change
        self.lengths = Lengths()
        self.broken: list[dict[str, str]] = []
        self.broken_rows = 0

    def add_session(
        self, agent_id: str, session_id: str, rows: Iterable[dict[str, Any]], messages: Iterable[Said] = ()
    ) -> Iterator[int]:
        """Write the rows of one session's samples; yields now and then how many samples were seen."""
        share = self.options.train_split
        side = splits.side(agent_id, session_id, seed=self.options.seed, train_share=share)
        before, reported = self.rows, self.seen
        for made in rows_of(self.shape, self._fitting(rows), messages):
            self._add(side, made)
            if self.seen >= reported + STEP:
                reported = self.seen
                yield reported
        self.sessions += self.rows > before

    def finish(self) -> None:
        """Complete the files. Raises Refused when a row breaks a rule, or when there is none."""
        written = {side: self.files[side].finish() for side in splits.SIDES if side in self.files}
        for side, file in self.files.items():
            for column in sorted(file.dates.found):
                self._note_broken(written[side].name, [Broken("dates", column)])
        self._refuse_broken()
        if not written:
            raise Refused(words.nothing_left(self.excluded), reasons=words.left_out(self.excluded)[:LISTED])
        info = dataset_info(self.options.format, list(written))
        described = [writing.write_json(self.folder / "dataset_info.json", info)]
        if self._is_marked:
            masked = masked_history(self.options.format)
            described.append(writing.write_text(self.folder / "llamafactory.yaml", masked))
        writing.write_json(self.folder / "manifest.json", self._manifest(written, described))

    def close(self) -> None:
        """Stop writing, complete or not."""
        for file in self.files.values():
            file.close()

    def _fitting(self, rows) -> Iterator[ExportSample]:
        """The samples that have something to teach; the others are noted as excluded, or as broken."""
        for row in rows:
            self.seen += 1
            if row["sample_type"] != DatasetSample.Type.ANNOTATED_TURN:
                self._note_excluded("not_a_turn", row["id"])
                continue
            try:
                sample = read_sample(row)
            except Unreadable:
                self._note_broken(row["id"], [Broken("unreadable")])
                continue
            if reason := unfit(self.shape, sample):
                self._note_excluded(reason, sample.sample_id)
                continue
            sample.is_approved = row["annotation_status"] in DatasetSample.APPROVED
            yield sample

    def _add(self, side, made):
        sample = made.sample
        if made.row is None:
            self._note_excluded(made.left_out, sample.sample_id)
            return
        line, row, done = as_line(made.row, made.changes)
        if reason := max(self.shape.withheld & done, default=""):
            self._note_excluded(reason, sample.sample_id)
            return
        if broken := broken_rules(self.shape.format, row):
            self._note_broken(sample.sample_id, broken)
            return
        self._file(side).add(line, row)
        self.rows += 1
        self.lengths.see(*lengths_of(row))
        self.changes.update(done)
        for name in done:
            if len(self.changed[name]) < CHANGED_LISTED:
                self.changed[name].append(sample.sample_id)
        for taught in (*made.others, sample):
            self._count(taught)

    def _count(self, sample):
        self.samples += 1
        self.approved += sample.is_approved
        if sample.quality_score is not None:
            self.scored += 1
            self.score += sample.quality_score

    def _file(self, side):
        if side not in self.files:
            path = self.folder / file_name(self.options.format, side)
            self.files[side] = writing.RowFile(path, COLUMNS[self.options.format])
        return self.files[side]

    def _note_excluded(self, reason, sample_id):
        found = self.excluded.setdefault(reason, {"count": 0, "samples": []})
        found["count"] += 1
        if len(found["samples"]) < LISTED:
            found["samples"].append(sample_id)

    def _note_broken(self, row_id, broken):
        self.broken_rows += 1
        if len(self.broken) < LISTED:
            self.broken += [{"id": row_id, "rule": found.rule, "place": found.place} for found in broken]

    def _refuse_broken(self):
        if not self.broken_rows:
            return
        sentence = ngettext(
            "%(count)s row breaks a rule of trainers, so nothing was written. Correct or reject its sample, "
            "then export again.",
            "%(count)s rows break a rule of trainers, so nothing was written. Correct or reject their "
            "samples, then export again.",
            self.broken_rows,
        )
        raise Refused(sentence % {"count": f"{self.broken_rows:,}"}, reasons=words.reasons(self.broken[:LISTED]))

    def _manifest(self, written, described):
        options = asdict(self.options)
        return {
            "format": options.pop("format"),
            "task": options.pop("task"),
            "profile": PROFILE,
            "rules": RULES,
            "app": {"name": "openclaw-web", "version": settings.VERSION},
            "options": options,
            "counts": self._counts(written),
            "files": [facts.as_json() for facts in (*written.values(), *described)],
            "empty_sides": [side for side in splits.SIDES if side not in written],
            "excluded": [{"reason": reason, **found} for reason, found in self.excluded.items()],
            "transformations": dict(sorted(self.changes.items())),
            "transformed_samples": dict(sorted(self.changed.items())),
            "lengths": self.lengths.as_json(),
            "checks": compared(self.options.format, is_marked=self._is_marked),
        }

    @property
    def _is_marked(self):
        """Whether messages say what is to be learned."""
        return self.shape.needs_branch and self.shape.history == CONTEXT

    def _counts(self, written):
        return {
            "rows": self.rows,
            "samples": self.samples,
            **{side: written[side].rows if side in written else 0 for side in splits.SIDES},
            "sessions": self.sessions,
            "approved": self.approved,
            "excluded": sum(found["count"] for found in self.excluded.values()),
            "average_quality": round(self.score / self.scored, 6) if self.scored else None,
        }
