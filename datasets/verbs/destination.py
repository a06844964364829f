"""Copies a finished export to the file or folder that `-o` names.

Copies are written beside their target, compared with the manifest, and only then get their names.
"""

import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from openclaw_web import reasons
from openclaw_web.commands.groups import Failed
from openclaw_web.disk import drafts, publication, room
from openclaw_web.errors import Refused

from ..exports import exports
from ..exports.files import FileFacts, file_name
from ..exports.plan import SIDES, TRAIN
from ..models import DatasetExport

PIECE = 1024 * 1024


def add_arguments(parser: CommandParser) -> None:
    """Add the options that name a place for the files."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE|FOLDER/",
        help=_(
            "also write the training rows to FILE and the other parts of the split beside it (FILE.jsonl: "
            "FILE.test.jsonl), or the whole export to FOLDER/"
        ),
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help=_("with --output: replace files that exist, and remove those of parts that this export does not have"),
    )


@dataclass(frozen=True, slots=True)
class Destination:
    """The place that a command named for the files of an export."""

    path: Path
    is_folder: bool
    may_replace: bool

    def find_side_path(self, side: str) -> Path:
        """The path of one side's rows: `rows.jsonl` for training, `rows.test.jsonl` for testing."""
        if side == TRAIN:
            return self.path
        return self.path.with_name(f"{self.path.stem}.{side}{self.path.suffix}")


def parse_destination(text: str, *, may_replace: bool) -> Destination:
    """The place that a text names: a folder if it ends with `/` or is one.

    Raises Refused for a place that cannot be written to, and for files that exist, unless they may be replaced.
    """
    path = Path(text)
    target = Destination(path, text.endswith(os.sep) or path.is_dir(), may_replace)
    if not text or not path.name:
        raise Refused(_("Name a file or a new folder with --output."))
    if not path.parent.is_dir():
        raise Refused(_("There is no folder %(folder)s. Create it first.") % {"folder": path.parent})
    for taken in _list_taken(target):
        is_plain = taken.is_file() and not taken.is_symlink()
        if not target.is_folder and not is_plain:
            raise Refused(_("%(file)s is not a regular file. Choose another name.") % {"file": taken})
        if target.is_folder and taken == target.path:
            raise Refused(_("%(file)s is not a folder. Choose another name.") % {"file": taken})
        if not target.may_replace:
            raise _build_taken(target.path if target.is_folder else taken, is_folder=target.is_folder)
    return target


def copy_export(export: DatasetExport, target: Destination) -> list[Path]:
    """Copy the files of a ready export to a place; return the paths of the copies.

    Training rows come first.

    Raises Refused when a file was created there in the meantime, and Failed when the files cannot be written.
    """
    paths = _list_paths(export, target)
    try:
        room.check(target.path.parent, sum(facts.bytes for facts in paths.values()))
        place = target.path.resolve() if target.is_folder else target.path.absolute()
        with drafts.create_draft(place) as draft:
            for facts in paths.values():
                _copy_file(exports.folder_of(export) / facts.name, draft / facts.name, facts)
            _publish(draft, target, paths)
    except OSError as exc:
        words = {"file": target.path, "reason": reasons.describe_os_error(exc), "folder": exports.folder_of(export)}
        raise Failed(_("%(file)s cannot be written: %(reason)s. The export is in %(folder)s.") % words) from exc
    return list(paths)


def _list_paths(export, target) -> Mapping[Path, FileFacts]:
    files = {facts.name: facts for facts in exports.list_files(export)}
    if target.is_folder:
        return {target.path / name: facts for name, facts in files.items()}
    names = {side: file_name(export.manifest["dataset"], side, export.export_format) for side in SIDES}
    return {target.find_side_path(side): files[name] for side, name in names.items() if name in files}


def _list_taken(target) -> Iterator[Path]:
    """Paths of what already stands where files would be written."""
    if not target.is_folder:
        yield from filter(os.path.lexists, map(target.find_side_path, SIDES))
    elif target.path.is_dir():
        yield from sorted(target.path.iterdir())[:1]
    elif os.path.lexists(target.path):
        yield target.path


def _build_taken(path, *, is_folder):
    if is_folder:
        return Refused(_("The folder %(folder)s is not empty. Choose another one, or use --force.") % {"folder": path})
    return Refused(_("%(file)s already exists. Choose another name, or use --force to replace it.") % {"file": path})


def _copy_file(source, copy, facts):
    digest = hashlib.sha256()
    with source.open("rb") as read, copy.open("xb") as written:
        while piece := read.read(PIECE):
            digest.update(piece)
            written.write(piece)
        written.flush()
        os.fsync(written.fileno())
    if digest.hexdigest() != facts.sha256:
        raise Failed(exports.describe_unsent_file(facts.name))


def _publish(draft, target, paths):
    """Give every copy its name; none gets one where a name is taken by now."""
    if target.is_folder and not target.may_replace:
        drafts.sync_folder(draft)
        try:
            draft.rename(target.path.resolve())  # takes the place of an empty folder, and of nothing else
        except OSError as exc:
            if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            raise _build_taken(target.path, is_folder=True) from exc
    elif target.may_replace:
        _replace_files(draft, target, paths)
    else:
        _publish_files(draft, paths)
    drafts.sync_folder(target.path.resolve().parent)


def _publish_files(draft, paths):
    done: list[Path] = []
    try:
        for path, facts in paths.items():
            publication.publish(draft / facts.name, path)
            done.append(path)
    except FileExistsError as exc:
        for copied in done:
            copied.unlink()
        raise _build_taken(path, is_folder=False) from exc


def _replace_files(draft, target, paths):
    if target.is_folder:
        target.path.mkdir(exist_ok=True)
    for path, facts in paths.items():
        (draft / facts.name).replace(path)
    if not target.is_folder:
        for side in SIDES:  # rows that were for testing may be for training now
            if (path := target.find_side_path(side)) not in paths:
                path.unlink(missing_ok=True)
