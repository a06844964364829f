"""Places of the program itself: its environment or checkout, the service, completion scripts."""

# pathlib's own methods raise PermissionError in a closed folder.
# ruff: noqa: PTH113, PTH114

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from openclaw_web import reasons

from .data_locations import Location, build_remove_command, find_problem, list_folder, may_exist
from .service import unit_places
from .service.unit_places import get_config_folder, get_home_directory

COMMAND = "openclaw-web"
CONTAINERS = (Path("/run/.containerenv"), Path("/.dockerenv"))  # of podman and of docker
NAME = re.compile(r"[A-Za-z0-9._-]+")  # at the beginning of a requirement
ALWAYS_THERE = {COMMAND, "pip", "setuptools", "wheel"}
COMPLETED = f"{COMMAND} completion"  # in a line of a file that a shell reads when it starts
# Such a line that does nothing else: without one that is part of an `if`, a shell could not read the file.
LONE_LINE = re.compile(
    rf"""(source|\.) <\({COMPLETED} \w+\)|eval "?\$\({COMPLETED} \w+\)"?|{COMPLETED} fish \| source""", re.ASCII
)
# What venv, pip and ./dev put into an environment.
OF_ENVIRONMENTS = re.compile(
    r"bin|etc|include|lib|lib64|man|share|pyvenv\.cfg|\.gitignore|\.lock|\.installed-.*|CACHEDIR\.TAG"
)


def find_program() -> list[Location]:
    """Find every place of the program: what is installed, the service, scripts of shells."""
    return [*_list_installations(), *_list_services(), *_list_completions(), *_list_shell_lines()]


def _list_installations() -> Iterator[Location]:
    environment, checkout = Path(sys.prefix), settings.BASE_DIR
    is_checkout = os.path.isfile(checkout / "pyproject.toml") and os.path.isfile(checkout / "dev")
    is_container = bool(os.environ.get("container"))  # noqa: SIM112 - podman's own spelling
    if is_container or any(map(os.path.exists, CONTAINERS)):
        note = _("This runs in a container. Remove the container, its image and its volumes with podman or docker.")
        yield Location("container", Path("/"), "", note=note, is_measured=False)
    if is_checkout:
        note = _("The checkout, with everything that ./dev installs and creates in it.")
        yield Location("checkout", checkout, build_remove_command([checkout]), note=note)
        if os.path.islink(environment) or not environment.is_relative_to(checkout):
            yield _describe_environment(environment)
    else:
        yield _describe_environment(environment)
    yield from _list_launchers(environment)


def _describe_environment(environment):
    if os.path.isfile(environment / "pipx_metadata.json"):
        return Location("pipx", environment, f"pipx uninstall {COMMAND}")
    if os.path.isfile(environment / "uv-receipt.toml"):
        return Location("uv_tool", environment, f"uv tool uninstall {COMMAND}")
    pip = f"{shlex.quote(sys.executable)} -m pip uninstall {COMMAND}"
    if sys.prefix == sys.base_prefix:
        note = _("It was installed into the Python of the system; its dependencies are kept.")
        return Location("python", environment, pip, note=note)
    if others := _list_other_programs():
        note = _("Other programs are installed in this environment: %(names)s. Dependencies of OpenClaw Web are kept.")
        return Location("environment", environment, pip, note=note % {"names": ", ".join(others[:5])})
    entries, problem = list_folder(environment)
    if problem or not all(OF_ENVIRONMENTS.fullmatch(path.name) for path in entries):
        note = _("Other files of the folder are not ours. Dependencies of OpenClaw Web are kept.")
        return Location("environment", environment, pip, note=note)
    if os.path.islink(environment):
        both = (environment, Path(os.path.realpath(environment)))
        note = _("This is a link to %(folder)s: the command removes both.") % {"folder": both[1]}
        return Location("environment", environment, build_remove_command(both), note=note, files=both)
    return Location("environment", environment, build_remove_command([environment]))


def _list_other_programs():
    """Programs in this environment that somebody chose, besides this one."""
    chosen = {
        _normalise(distribution.name)
        for distribution in metadata.distributions()
        # Dependencies have no such file, unless they were installed from the lock.
        if distribution.name and distribution.read_text("REQUESTED") is not None
    }
    return sorted(chosen - ALWAYS_THERE - _find_dependencies())


def _find_dependencies():
    """Names of everything that this program needs, with all extras."""
    needed, waiting = set(), [COMMAND]
    while waiting:
        with suppress(metadata.PackageNotFoundError):
            for text in metadata.requires(waiting.pop()) or ():
                name = _normalise(NAME.match(text)[0])
                if name not in needed:
                    needed.add(name)
                    waiting.append(name)
    return needed


def _normalise(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _list_launchers(environment) -> Iterator[Location]:
    """Links or scripts of that name elsewhere on the search path; pipx and uv remove theirs."""
    if any(os.path.isfile(environment / name) for name in ("pipx_metadata.json", "uv-receipt.toml")):
        return
    for folder in dict.fromkeys(os.environ.get("PATH", "").split(os.pathsep)):
        path = Path(folder, COMMAND)
        if not folder:
            continue
        if find_problem(path):
            yield Location("launcher", path, "")
        elif os.path.islink(path) and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(environment)):
            yield Location("launcher", path, build_remove_command([path]))


def _list_services() -> Iterator[Location]:
    """Units of the user and of the system, with their changes and files for secrets."""
    for is_system in (False, True):
        control = "sudo systemctl" if is_system else "systemctl --user"
        prefix = "sudo " if is_system else ""
        unit = unit_places.get_unit_path(is_system=is_system)
        if find_problem(unit):
            yield Location("service", unit, "")
        elif unit_files := list(unit_places.find_unit_files(is_system=is_system)):
            remove = f"{control} disable --now {unit_places.NAME}; {prefix}{build_remove_command(unit_files)}"
            note = _("openclaw-web service remove does the same, except for changes by systemctl edit.")
            yield Location("service", unit, remove, note=note, files=tuple(unit_files))
        secrets = unit_places.get_secrets_file(is_system=is_system).parent
        if may_exist(secrets):
            note = _("Variables with secrets, for the service.")
            yield Location("service_secrets", secrets, prefix + build_remove_command([secrets]), note=note)


def _list_completions() -> Iterator[Location]:
    """Scripts of `openclaw-web completion` where bash, zsh and fish look for them."""
    user = get_home_directory()
    data = Path(os.environ.get("XDG_DATA_HOME") or user / ".local" / "share")
    bash = Path(os.environ.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion") / "completions" / COMMAND
    zsh = [Path(folder, f"_{COMMAND}") for folder in os.environ.get("FPATH", "").split(os.pathsep) if folder]
    places = [
        bash,
        Path("/etc/bash_completion.d", COMMAND),
        Path("/usr/local/share/bash-completion/completions", COMMAND),
        Path("/usr/share/bash-completion/completions", COMMAND),
        user / ".zfunc" / f"_{COMMAND}",
        Path("/usr/local/share/zsh/site-functions", f"_{COMMAND}"),
        *zsh,
        get_config_folder(is_system=False) / "fish" / "completions" / f"{COMMAND}.fish",
        Path("/etc/fish/completions", f"{COMMAND}.fish"),
    ]
    for path in dict.fromkeys(places):
        if may_exist(path):
            yield Location("completion", path, build_remove_command([path]))


def _list_shell_lines() -> Iterator[Location]:
    """Files that a shell reads when it starts, with a line that loads our completions."""
    user = get_home_directory()
    names = (".bashrc", ".bash_profile", ".profile", ".zshrc")
    for path in (*(user / name for name in names), get_config_folder(is_system=False) / "fish" / "config.fish"):
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            continue
        except OSError as exc:
            yield Location("shell_line", path, "", problem=reasons.describe_os_error(exc))
            continue
        ours = [line for line in lines if COMPLETED in line]
        if ours and not os.path.islink(path) and all(map(LONE_LINE.fullmatch, ours)):
            remove = f"sed -i '/{COMPLETED}/d' {shlex.quote(str(path))}"
            yield Location("shell_line", path, remove, note=_("Only the line that loads our completions is ours."))
        elif ours:
            note = _("Remove the line that loads our completions in an editor: it is part of other lines.")
            yield Location("shell_line", path, "", note=note)
