"""Places of the service on the disk.

They are those of the machine (`is_system`), or of the user who runs this command.
"""

import os
from contextlib import suppress
from pathlib import Path

NAME = "openclaw-web.service"
# Links by which systemd starts a unit with the machine, or with the user's manager.
WANTED_BY = {True: "multi-user.target", False: "default.target"}


def get_home_directory() -> Path:
    """The home directory of the user, or / for a number without an account."""
    with suppress(RuntimeError):
        return Path.home()
    return Path("/")


def get_config_folder(*, is_system: bool) -> Path:
    """The folder of configuration: /etc, or that of the user."""
    if is_system:
        return Path("/etc")
    chosen = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return chosen if chosen.is_absolute() else get_home_directory() / ".config"


def get_unit_path(*, is_system: bool) -> Path:
    """The unit file."""
    return get_config_folder(is_system=is_system) / "systemd" / ("system" if is_system else "user") / NAME


def get_drop_in_folder(unit: Path) -> Path:
    """The folder in which `systemctl edit` keeps changes of the operator."""
    return unit.with_name(f"{NAME}.d")


def get_secrets_file(*, is_system: bool) -> Path:
    """The file from which the service reads variables with secrets."""
    return get_config_folder(is_system=is_system) / "openclaw-web" / "service.env"
