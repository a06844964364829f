"""`episodes head`: the value of the chain after the last event, to keep elsewhere."""

import os
import tempfile
from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web import reasons
from openclaw_web.commands.groups import Failed, Outcome, WrongUse
from openclaw_web.commands.verbs import BY
from openclaw_web.disk import drafts

from ..chain import heads
from . import find_agent, get_path

HELP = gettext_lazy("Print the head of the ledger, which `episodes verify` compares with later.")
EXAMPLES = ("episodes head", "episodes head --output /mnt/usb/openclaw-web.head")
SCREEN = "screen"
MOST_BYTES = 200  # of the file of a head


def add_arguments(parser):
    parser.add_argument(
        "--output",
        metavar="FILE",
        help=_("write the head into this file; only a head of this ledger is replaced"),
    )


def run(agent, output, **options):
    agent_row = find_agent(agent)
    if not output:
        head = heads.release(agent_row, SCREEN, by=BY)
        return Outcome({"head": str(head), "last_id": head.last_id, "output": None}, str(head))
    path = get_path(output)
    # Refuse to replace anything but a head of this ledger.
    try:
        if path.is_file():
            if not heads.is_in_chain(agent_row.db, read_file(path)):
                sentence = _("The ledger does not have the head in %(file)s any more. The file was not replaced.")
                raise Failed(sentence % {"file": path})
        elif os.path.lexists(path):
            raise heads.WrongHead("")
    except heads.WrongHead as exc:
        raise WrongUse(_("%(file)s holds something else than a head; it was not replaced.") % {"file": path}) from exc
    # Before it is written: a head outside of the home has to be known.
    head = heads.release(agent_row, str(path), by=BY)
    _write(path, f"{head}\n")
    return Outcome({"head": str(head), "last_id": head.last_id, "output": str(path)}, str(head))


def read_file(path: Path) -> heads.Head:
    """Return the head in a file.

    Raises WrongUse for a file that cannot be read, and WrongHead for another content.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES)
    except (OSError, ValueError) as exc:
        raise WrongUse(_("%(file)s cannot be read.") % {"file": path}) from exc
    return heads.parse_head(data.decode(errors="replace"))


def _write(path, line):
    """Write a file as a whole, or not at all, to the disk itself."""
    try:
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".head-")
        try:
            with open(descriptor, "w") as file:  # noqa: PTH123 - a descriptor
                file.write(line)
                file.flush()
                os.fsync(descriptor)
            Path(draft).replace(path)
        except OSError:
            Path(draft).unlink(missing_ok=True)
            raise
        drafts.sync_folder(path.parent)
    except OSError as exc:
        words = {"file": path, "reason": reasons.describe_os_error(exc)}
        raise Failed(_("%(file)s cannot be written: %(reason)s.") % words) from exc
