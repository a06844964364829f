"""Values that a unit takes over from the environment of `install`: folders, variables, the command itself."""

import os
import pwd
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connections
from django.utils.translation import gettext as _

from agents.models import Agent
from openclaw_web import reasons
from openclaw_web.commands.groups import WrongUse
from openclaw_web.errors import Refused
from openclaw_web.llm import endpoint

from ..backups.runs import get_backup_folder
from .unit_places import get_home_directory, get_secrets_file

PREFIX = "OPENCLAW_WEB_"
# Words at the end of the name of a variable whose value does not go into the unit, which others may read. The address
# of a webhook is often all that it takes to post to it.
SECRET_ENDINGS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "WEBHOOK_URL", "SMTP_URL")
# The command of OpenClaw gets these from us.
OF_OPENCLAW = ("PATH", "OPENCLAW_CONFIG_PATH")
PROBE_SECONDS = 10


@dataclass(frozen=True, slots=True)
class ServiceValues:
    """All values in a unit, which belongs to the machine (`is_system`) or to a user."""

    program: Path
    host: str
    port: int
    home: Path
    state_dir: Path
    secrets_file: Path
    user: str
    home_directory: Path
    variables: dict[str, str]
    is_system: bool = False
    writable_paths: tuple[Path, ...] = ()
    has_user_namespaces: bool = True

    @property
    def openclaw_command(self) -> str:
        """The command that changes are handed to; empty for none."""
        return self.variables.get("OPENCLAW_WEB_OPENCLAW", "")


def collect_values(host: str, port: int, user: str) -> ServiceValues:
    """Collect the values from the environment, the settings and the account of the service.

    Raises Refused for an account that cannot run the service or an address of a model that cannot be used, and WrongUse
    for `user` without root.
    """
    if endpoint.is_configured() and (problem := endpoint.describe_problem()):
        raise Refused(problem)  # it could hold a password, and others may read the unit
    account = _find_account(user)
    program = find_program()
    is_system = os.geteuid() == 0
    state_dir = _find_state_dir(account)
    if is_system:
        if not _may_enter(account, program):
            sentence = _(
                "%(user)s may not run %(program)s. Install OpenClaw Web where every user can read it, as in /opt."
            )
            raise Refused(sentence % {"user": account.pw_name, "program": program})
        if state_dir.is_dir() and not _may_enter(account, state_dir):
            sentence = _(
                "%(user)s may not enter the OpenClaw folder %(folder)s. Set OPENCLAW_STATE_DIR to the folder of the "
                "OpenClaw that this user runs, or give the user access to it."
            )
            raise Refused(sentence % {"user": account.pw_name, "folder": state_dir})
    names = sorted(name for name in os.environ if name.startswith(PREFIX) and not _is_secret(name))
    variables = {name: os.environ[name] for name in names if os.environ[name] and name != "OPENCLAW_WEB_HOME"}
    # Every command sets this value for itself: openclaw_web/commands/cli.py.
    if variables.get("OPENCLAW_WEB_BUSY_SECONDS") == "30":
        del variables["OPENCLAW_WEB_BUSY_SECONDS"]
    if settings.OPENCLAW_COMMAND:
        variables |= {name: os.environ[name] for name in OF_OPENCLAW if os.environ.get(name)}
    # Folders outside the home that the site writes into.
    with _acting_as(account):
        paths = _read_stored_folders()
    if settings.WORKSPACE_WRITES or variables.get("OPENCLAW_WEB_OPENCLAW"):  # which writes files of its own
        paths.append(state_dir)
    outside = {path for path in paths if path.is_absolute() and not path.is_relative_to(settings.HOME_DIR)}
    return ServiceValues(
        program=program,
        host=host,
        port=port,
        home=settings.HOME_DIR,
        state_dir=state_dir,
        secrets_file=get_secrets_file(is_system=is_system),
        user=account.pw_name,
        home_directory=Path(account.pw_dir),
        variables=variables,
        is_system=is_system,
        writable_paths=tuple(sorted(path for path in outside if not outside.intersection(path.parents))),
        has_user_namespaces=is_system or _can_make_namespaces(),
    )


def list_secret_names() -> list[str]:
    """Names of variables with secrets that are set now."""
    names = ("SECRET_KEY", *(name for name in os.environ if name.startswith(PREFIX) and _is_secret(name)))
    return sorted(name for name in names if os.environ.get(name))


def find_program() -> Path:
    """The command of this installation: the one on PATH, or the one beside its interpreter.

    pipx and uv put a link on PATH, which remains when they make the environment behind it again. Raises Refused.
    """
    own = Path(sys.prefix).absolute() / "bin" / "openclaw-web"
    if not os.access(own, os.X_OK):
        raise Refused(_("%(file)s is missing: install OpenClaw Web with pipx, uv tool or pip.") % {"file": own})
    on_path = Path(shutil.which("openclaw-web") or own).absolute()
    return on_path if on_path.samefile(own) else own


def _find_account(user):
    if os.geteuid() != 0:
        if user:
            raise WrongUse(_("--user is for root: your own unit runs the site as you."))
        return _get_own_account()
    if not settings.HOME_DIR.is_dir():
        sentence = _(
            "%(home)s does not exist. Create this folder first, as the user that shall run the site; or set "
            "OPENCLAW_WEB_HOME to the home of this user."
        )
        raise Refused(sentence % {"home": settings.HOME_DIR})
    owner = settings.HOME_DIR.stat().st_uid
    try:
        account = pwd.getpwnam(user) if user else pwd.getpwuid(owner)
    except KeyError as exc:
        raise Refused(_("There is no user %(user)s on this machine.") % {"user": user or owner}) from exc
    if not user and owner == 0:
        sentence = _(
            "The site would run as root, because %(home)s belongs to root. Set OPENCLAW_WEB_HOME and "
            "OPENCLAW_STATE_DIR to the folders of the user that runs OpenClaw; or run the site as root: --user root"
        )
        raise Refused(sentence % {"home": settings.HOME_DIR})
    _check_owner(account)
    return account


def _get_own_account():
    try:
        return pwd.getpwuid(os.getuid())
    except KeyError:  # a number without a name, as in containers
        number = os.getuid()
        return pwd.struct_passwd((str(number), "", number, os.getgid(), "", str(get_home_directory()), ""))


def _check_owner(account):
    """Refuse a home with files that the user could not write.

    A command that root ran in it may have created some.
    """
    home = settings.HOME_DIR
    names = (".", "secret.key", "state", "state/home.lock", "state/serve.lock", "state/openclaw.sqlite")
    for path in filter(os.path.lexists, (home / name for name in names)):
        if path.lstat().st_uid != account.pw_uid:
            sentence = _(
                "%(file)s does not belong to %(user)s. Set OPENCLAW_WEB_HOME to a home of this user, or run: "
                "chown -R %(user)s %(home)s"
            )
            raise Refused(sentence % {"file": path, "home": shlex.quote(str(home)), "user": account.pw_name})


def _find_state_dir(account):
    """The OpenClaw folder that was named, or that of the account, which is not root's."""
    if os.geteuid() != 0 or os.environ.get("OPENCLAW_STATE_DIR"):
        return settings.STATE_DIR
    return Path(account.pw_dir).absolute() / ".openclaw"


def _may_enter(account, path):
    """Whether the account may enter a folder or run a program."""
    rights = {}
    if account.pw_uid:
        groups = os.getgrouplist(account.pw_name, account.pw_gid)  # systemd gives it all of them
        rights = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": groups}
    done = subprocess.run(["test", "-x", path], check=False, timeout=PROBE_SECONDS, cwd="/", **rights)
    return done.returncode == 0


def _is_secret(name):
    return name.endswith(SECRET_ENDINGS)


@contextmanager
def _acting_as(account) -> Iterator[None]:
    """Give root only the rights of a user for the block.

    SQLite writes beside the database, where that user could have put links to any file.
    """
    if os.geteuid() != 0 or account.pw_uid == 0:
        yield
        return
    groups, group = os.getgroups(), os.getegid()
    os.setgroups([])
    os.setegid(account.pw_gid)
    os.seteuid(account.pw_uid)
    try:
        yield
    finally:
        connections["default"].close()
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)


def _read_stored_folders():
    """The folder of backups, and the workspaces into which the site may write."""
    try:
        if not (settings.HOME_DIR / "state" / "openclaw.sqlite").exists():  # opening it would create it
            return []
        if not connections["default"].introspection.table_names():
            return []
        workspaces = Agent.objects.exclude(workspace="").values_list("workspace", flat=True)
        return [get_backup_folder(), *(map(Path, workspaces) if settings.WORKSPACE_WRITES else ())]
    except (DatabaseError, OSError) as exc:
        sentence = _("The folders that the site writes into cannot be read: %(why)s. Run: openclaw-web doctor")
        raise Refused(sentence % {"why": reasons.describe_error(exc)}) from exc


def _can_make_namespaces():
    """Whether an unprivileged process gets a user namespace with mounts; some systems forbid that."""
    command = ["unshare", "--user", "--mount", "true"]
    try:
        done = subprocess.run(command, check=False, capture_output=True, timeout=PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
