"""The options of an export: checked, stored in its row, and read back."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from typing import Any

from django.utils.translation import gettext as _

from agents.models import Agent
from artifacts.content_download import FlaggedArtifact
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from people.audit import log as audit

from ..dedup.split_plan import DUPLICATES, ONE
from ..models import Benchmark, DatasetExport, DatasetSample, DatasetVersion
from ..sample_list import read_sample_filter
from ..sample_texts import CHANGED, INJECTED, INTERRUPTED, UNKNOWN_ENVELOPE, UNRECEIVED, UNRECOGNIZED
from . import changes, histories, turns
from .changes import OPEN_FINDINGS, RESTS_ON_TOOLS
from .files import is_installed
from .formats import WEIGHTED
from .rows import UNEXPLAINED, Shape
from .turns import LIST, PARALLEL


def build_name(kind: str) -> str:
    """A name for an export that nobody named: `alpaca 2026-02-21 053007 123`, in UTC."""
    at = datetime.fromtimestamp(clock.now_ms() / 1000, UTC)
    return f"{kind} {at:%Y-%m-%d %H%M%S} {at.microsecond // 1000:03}"


def check_choices(*, include: Collection[str] = (), include_pii: bool = False, is_admin: bool) -> None:
    """Raises FlaggedArtifact when somebody other than an admin chooses what only admins may."""
    if FLAGGED in include and not is_admin:
        raise FlaggedArtifact(
            _("Only admins may export keys and passwords that nobody has judged. Leave them out, or ask an admin.")
        )
    if include_pii and not is_admin:
        raise FlaggedArtifact(_("Only admins may export personal data. Have it redacted, or ask an admin."))


def check_download(export: DatasetExport, name: str | None, *, by: str, is_admin: bool) -> None:
    """Raises FlaggedArtifact when somebody other than an admin downloads such rows.

    The refusal is written to the audit log. Without a name, the download is of all files.
    """
    if is_admin or not count_flagged_rows(export):
        return
    if any(name in (None, file["name"]) and "rows" in file for file in export.manifest["files"]):
        audit.record(by, "download_refused", object_type="export", object_id=export.id, file=name or "zip")
        raise FlaggedArtifact(
            _("This file may contain personal data, or keys that nobody has judged: only admins may download it.")
        )


def count_flagged_rows(export: DatasetExport) -> int:
    """Count the rows of an export that only admins may read.

    With personal data these are all of its rows, else those with findings that nobody judged.
    """
    manifest = export.manifest
    if manifest.get("options", {}).get("include_pii"):
        return manifest["counts"]["rows"]
    return manifest.get("transformations", {}).get(OPEN_FINDINGS, 0)


FORMATS = DatasetExport.Format
# Rows of conversations leave out no sample for their form: a release has all that some format can teach.
NEUTRAL_FORMAT = FORMATS.SHAREGPT.value
TASKS = DatasetExport.Task
DEFAULT_TYPES = (DatasetSample.Type.ANNOTATED_TURN,)
GATE_TYPES = (*DEFAULT_TYPES, DatasetSample.Type.MEMORY_GATE_POSITIVE, DatasetSample.Type.MEMORY_GATE_NEGATIVE)
GUARDIAN_TYPES = (DatasetSample.Type.WRITE_GUARDIAN_DECISION,)
TAUGHT_BY: dict[str, tuple[str, ...]] = {
    TASKS.REPLY.value: DEFAULT_TYPES,
    TASKS.GATE.value: GATE_TYPES,
    TASKS.GUARDIAN.value: GUARDIAN_TYPES,
}
BY_TASK: tuple[str, ...] = ("",)  # the types of samples that a task is taught by, as None
LONGEST_NAME, LONGEST_SEED = 120, 64
BLANKS = re.compile(" +")
CAPITAL = re.compile("[A-Z]")
ROW_CHARACTERS = 32_000
ROUNDING = 1e-9  # 0.7 and 0.3 may come to more than 1
# What is left out unless it is included: turns that OpenClaw started itself, and replies that are not sent; replies
# that were cut off, or that nobody received as an answer of the agent; turns with other words now than people judged;
# words in lines that look like OpenClaw's own and are not known; answers that ended with a call of a
# tool; questions that came with an image or a file, which no row holds; and for admins only, what may be secret and
# nobody judged. Writes that were rolled back, and their turns, too, unless a person corrected the write: its sample
# teaches the correction. Of pairs, corrected decisions that nobody gave a reason for.
CUT_OFF, PICTURES, ROLLED_BACK, FLAGGED = "cut_off", "pictures", "rolled_back", "flagged"
# Of the samples that a release may have; then of all.
SAMPLE_KINDS = (INJECTED, CUT_OFF, UNRECOGNIZED, INTERRUPTED, PICTURES, UNRECEIVED, CHANGED, ROLLED_BACK)
INCLUDED = (*SAMPLE_KINDS, UNEXPLAINED, FLAGGED)
BY_SESSION, BY_TIME = SPLITS = ("session", "time")
PROMPT_CHARACTERS = 32_768  # a longer system prompt or tool list is left out: OpenClaw records no longer text whole


@dataclass(frozen=True, slots=True)
class Options:
    """The samples of an export, the form of its rows, and its split."""

    format: str
    task: str
    only_approved: bool = True
    train_split: float = 0.8
    validation_split: float = 0.0
    seed: str = "0"
    agent: str | None = None
    sample_types: tuple[str, ...] = BY_TASK
    min_quality: float | None = None
    include: tuple[str, ...] = ()  # some of INCLUDED
    parallel_calls: str = LIST
    history: str = histories.EDITED  # what stands before a reply
    tool_calls: str = turns.KEEP
    duplicates: str = ONE  # of samples that say the same
    include_pii: bool = False  # personal data as it stands, without redaction: for admins only
    rebuild_system: bool = False  # of stored files, where the system prompt is not known
    release: str | None = None  # id of a DatasetVersion: its members, on their sides
    split_by: str = BY_SESSION
    split_day: str | None = None  # 2026-11-27: with BY_TIME, sessions that ended before this day are for training
    benchmark: str | None = None  # id of a Benchmark: rows with more than half of their grams in it are left out
    sample_filter: str = ""  # filters of the list of samples in one line, as that page spells them
    max_per_session: int | None = None  # the most samples of a session, a tool, and those that say the same: dedup.caps
    max_per_tool: int | None = None
    max_per_twins: int | None = None
    weights: bool = False  # a column with 1 / the samples of the session, in WEIGHTED formats

    def __post_init__(self):
        if self.sample_types in (None, BY_TASK):
            object.__setattr__(self, "sample_types", TAUGHT_BY.get(self.task, DEFAULT_TYPES))
        object.__setattr__(self, "sample_types", tuple(self.sample_types))
        object.__setattr__(self, "include", tuple(sorted(set(self.include))))

    @property
    def shape(self) -> Shape:
        """The options that decide what is in a row."""
        withheld = {changes.OUTPUT_LOST, changes.NOT_FULLY_SCANNED}
        if FLAGGED not in self.include:
            withheld.add(changes.OPEN_FINDINGS)
        if self.tool_calls == turns.LEAVE_OUT:
            withheld.add(RESTS_ON_TOOLS)
        return Shape(
            format=self.format,
            task=self.task,
            row_characters=ROW_CHARACTERS,
            parallel_calls=self.parallel_calls,
            history=self.history,
            tool_calls=self.tool_calls,
            withheld=frozenset(withheld),
            excluded=self.excluded,
        )

    @property
    def excluded(self) -> frozenset[str]:
        """The reasons for leaving turns out of every row that their records tell."""
        reasons = {
            INJECTED: INJECTED,
            UNRECOGNIZED: UNKNOWN_ENVELOPE,
            INTERRUPTED: INTERRUPTED,
            UNEXPLAINED: UNEXPLAINED,
        }
        return frozenset(reason for kind, reason in reasons.items() if kind not in self.include)

    @property
    def is_split(self) -> bool:
        """Whether more than one side has a share, and words choose a session's side."""
        if self.release is not None or self.split_by == BY_TIME:
            return False
        rest = 1 - self.train_split - self.validation_split
        return max(self.train_split, self.validation_split, rest) < 1 - ROUNDING

    def to_filters(self) -> dict[str, Any]:
        """The options as the manifest and `dataset_exports.filters` spell them."""
        return {_to_stored_name(name): getattr(self, name) for name in CHOICES}


CAPS = ("max_per_session", "max_per_tool", "max_per_twins")
MOST_CAP = 1_000_000
NO_CHOICES = {"format", "task", "sample_types"}  # columns of an export's row
CHOICES = tuple(field.name for field in fields(Options) if field.name not in NO_CHOICES)


def find_unused_choices(kind: str, task: str) -> set[str]:
    """The names of options that make no difference for a format and task."""
    shape = Shape(format=kind, task=task)
    used = {
        "history": shape.has_history,
        "tool_calls": shape.has_history or (kind, task) == (FORMATS.ALPACA, TASKS.REPLY),
        "parallel_calls": shape.has_history,
        "rebuild_system": shape.has_history,
        "weights": kind in WEIGHTED,
    }
    return {name for name, is_used in used.items() if not is_used}


def read_options(export: DatasetExport) -> Options:
    """The options of a stored export."""
    stored = translate_stored(export.choices, export.export_format)
    chosen = {name: stored[name] for name in CHOICES if name in stored}
    return Options(format=export.export_format, task=export.task, sample_types=tuple(export.types), **chosen)


def translate_stored(stored: Mapping[str, Any], kind: str = "") -> dict[str, Any]:
    """The options that an export of a format or a dataset has stored, by their names of today.

    Earlier versions had an option for each kind of INCLUDED, and one for the tool results of Alpaca. Their exports have
    corrections without a reason, and writes that were rolled back unless an option left them out.
    """
    options = {CAPITAL.sub(lambda match: f"_{match[0].lower()}", name): value for name, value in stored.items()}
    earlier = [reason for reason in INCLUDED if options.pop(f"include_{reason}", False)]
    if kind and "include" not in options:
        earlier.append(UNEXPLAINED)
    if kind and not options.pop("without_rolled_back", "include" in options):
        earlier.append(ROLLED_BACK)
    options["include"] = [*options.get("include", ()), *earlier]
    if options.pop("tool_results", "") == turns.INPUT and kind == FORMATS.ALPACA:
        options["tool_calls"] = turns.INPUT
    return options


def check_options(options: Options) -> None:
    """Raises Refused for options that cannot be exported, naming the possible ones."""
    _check_choice(options.format, FORMATS, _("There is no format %(value)s. Choose %(choices)s."))
    _check_choice(options.task, TASKS, _("There is no task %(value)s. Choose %(choices)s."))
    for name in options.sample_types:
        _check_choice(name, DatasetSample.Type, _("There is no sample type %(value)s. Choose %(choices)s."))
    _check_choice(options.history, histories.HISTORIES, _("The history cannot be %(value)s. Choose %(choices)s."))
    if options.history == histories.SESSION and not options.shape.has_whole_sessions:
        raise Refused(_("In this format each row has one question with its answers: choose another history."))
    if options.format == FORMATS.PARQUET and not is_installed():
        raise Refused(_("Parquet files need pyarrow. Install it with: pip install openclaw-web[parquet]"))
    _check_choice(options.tool_calls, turns.TOOL_CALLS, _("Tool calls cannot be %(value)s. Choose %(choices)s."))
    for name in options.include:
        _check_choice(name, INCLUDED, _("%(value)s cannot be included. Choose %(choices)s."))
    _check_choice(
        options.parallel_calls, PARALLEL, _("There is no form of parallel calls %(value)s. Choose %(choices)s.")
    )
    if not 0 <= options.train_split <= 1:
        raise Refused(_("The training share must be a number from 0 to 1, such as 0.8."))
    if not 0 <= options.validation_split <= 1:
        raise Refused(_("The validation share must be a number from 0 to 1, such as 0.1."))
    if options.train_split + options.validation_split > 1 + ROUNDING:
        raise Refused(_("The training and the validation share together must be at most 1."))
    _check_choice(options.split_by, SPLITS, _("The split cannot be by %(value)s. Choose %(choices)s."))
    if options.split_by == BY_TIME and not options.split_day:
        raise Refused(_("Choose the day of the split: sessions that ended before it are for training."))
    if options.split_day and not is_day(options.split_day):
        raise Refused(_("The day of the split must be a date, such as 2026-11-27."))
    if options.benchmark is not None and not Benchmark.objects.filter(id=options.benchmark).exists():
        raise Refused(_("There is no benchmark %(id)s. Upload it first.") % {"id": options.benchmark})
    if options.release is not None:
        _check_release(options)
    _check_choice(options.duplicates, DUPLICATES, _("Duplicates cannot be %(value)s. Choose %(choices)s."))
    if not options.sample_types:
        raise Refused(_("Choose at least one sample type."))
    if options.sample_filter:
        read_sample_filter(options.sample_filter)
    if options.min_quality is not None and not 0 <= options.min_quality <= 1:
        raise Refused(_("The minimum quality must be a number from 0 to 1, such as 0.6."))
    if any(getattr(options, name) is not None and not 1 <= getattr(options, name) <= MOST_CAP for name in CAPS):
        raise Refused(_("A maximum of samples must be from 1 to %(most)s.") % {"most": f"{MOST_CAP:,}"})
    if len(options.seed) > LONGEST_SEED:
        raise Refused(_("The seed may have at most %(count)s characters.") % {"count": LONGEST_SEED})
    if options.agent is not None and not _is_known(options.agent):
        raise Refused(
            _("There is no agent %(agent)s. Check the name, or omit it to export all agents.")
            % {"agent": options.agent}
        )


def _check_release(options):
    released = DatasetVersion.objects.filter(id=options.release, state=DatasetVersion.State.RELEASED).first()
    if released is None:
        raise Refused(_("There is no release %(id)s. Choose one on the page of its dataset.") % {"id": options.release})
    if (task := released.options.get("task")) != options.task:
        sentence = _("This release is for the task %(task)s. Choose this task.")
        raise Refused(sentence % {"task": task})


def is_day(text: str) -> bool:
    """Whether a text is a date, year first."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def check_name(name: str) -> str:
    """The name of an export, without surrounding and repeated blanks.

    Raises Refused when it cannot be a name.
    """
    name = BLANKS.sub(" ", name.strip())
    if not name:
        raise Refused(_("Enter a name for the export."))
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise Refused(_("A name is a single line of at most %(count)s characters.") % {"count": LONGEST_NAME})
    return name


def _check_choice(value, choices, sentence):
    if value not in tuple(choices):
        raise Refused(sentence % {"value": value, "choices": listed(choices)})


def _to_stored_name(name):
    """The name of an option in the columns of an export."""
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def _is_known(agent_id):
    if Agent.objects.filter(agent_id=agent_id).exists():
        return True
    return DatasetSample.objects.filter(agent_id=agent_id).exists()  # samples outlive their agent's registration
