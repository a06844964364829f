"""The unit file on the disk: read, compared, written in one step, removed."""

import difflib
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext as _

from openclaw_web import reasons
from openclaw_web.errors import Refused

from .unit import is_ours
from .unit_places import get_unit_path

SECRETS_TEMPLATE = """\
# Secrets for openclaw-web.service, a line each, such as: OPENCLAW_WEB_LLM_KEY=...
# The unit itself is readable for others; this file is for its owner only. After a change, restart the service.
"""


@dataclass(frozen=True, slots=True)
class UnitFile:
    """The place of our unit, and its text; None when there is no file."""

    path: Path
    text: str | None

    def compare(self, new_text: str) -> list[str]:
        """List the lines that differ: `-` in the file, `+` in the new text."""
        lines = difflib.unified_diff((self.text or "").splitlines(), new_text.splitlines(), lineterm="", n=0)
        return [line for line in lines if not line.startswith(("---", "+++", "@@"))]

    def write(self, text: str, *, is_system: bool) -> None:
        """Replace the file. A reader finds the old text or the new one."""
        _write_file(self.path, text, mode=0o644 if is_system else 0o600)

    def remove(self) -> None:
        """Remove the file."""
        with _refusing(self.path):
            self.path.unlink()


@contextmanager
def _refusing(path):
    """Turn an error of a file into a sentence."""
    try:
        yield
    except OSError as exc:
        raise Refused(_("%(file)s: %(why)s.") % {"file": path, "why": reasons.describe_os_error(exc)}) from exc


def find_unit_file() -> UnitFile:
    """Find our unit. Raises Refused for a unit of the same name that somebody else wrote."""
    path = get_unit_path(is_system=os.geteuid() == 0)
    with _refusing(path):
        text = path.read_text(errors="surrogateescape") if os.path.lexists(path) else None
    if text is not None and not is_ours(text):
        sentence = _("%(file)s was not written by openclaw-web service install. Rename or remove it first.")
        raise Refused(sentence % {"file": path})
    return UnitFile(path, text)


def create_secrets_file(path: Path) -> None:
    """Create the file for secrets, unless it exists, and let only its owner read it."""
    with _refusing(path):
        if os.path.lexists(path):
            path.chmod(0o600)
        else:
            _write_file(path, SECRETS_TEMPLATE, mode=0o600)


def remove_unused_secrets_file(path: Path) -> bool:
    """Remove the file for secrets and its folder, unless somebody wrote into it.

    Returns whether it is gone.
    """
    with _refusing(path):
        if os.path.lexists(path) and path.read_text(errors="replace") != SECRETS_TEMPLATE:
            return False
        path.unlink(missing_ok=True)
        if path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()
    return True


def _write_file(path, text, *, mode):
    with _refusing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_text(text)
            draft.chmod(mode)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
