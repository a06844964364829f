"""Configuration of handovers: the command, the admin's setting and the time limit."""

import os
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

ENABLED, SECONDS = "writeGuardian.handOver", "writeGuardian.handOverSeconds"
# All that the command gets of our environment; OPENCLAW_STATE_DIR is set to the home of the agent.
PASSED_ON = ("HOME", "PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "TMPDIR", "OPENCLAW_CONFIG_PATH")


class HandoverOff(Refused):
    """Handovers are off: the command or the setting is missing."""


def problem_of() -> str:
    """Return why nothing is handed to an agent, as a sentence; empty otherwise."""
    if not settings.OPENCLAW_COMMAND:
        return _("Changes are not handed to agents: OPENCLAW_WEB_OPENCLAW does not name the command of OpenClaw.")
    if not configuration.is_on(ENABLED):
        return _("Changes are not handed to agents: writeGuardian.handOver is off in the settings.")
    path = Path(settings.OPENCLAW_COMMAND)
    if not path.is_absolute():
        return _("Changes are not handed to agents: OPENCLAW_WEB_OPENCLAW is not an absolute path.")
    if not path.is_file() or not os.access(path, os.X_OK):
        return _("Changes are not handed to agents: OPENCLAW_WEB_OPENCLAW names no program that can be started.")
    return ""


def get_command() -> str:
    """Return the absolute path of the command.

    Raises HandoverOff while nothing may be handed over.
    """
    if problem := problem_of():
        raise HandoverOff(problem)
    return str(settings.OPENCLAW_COMMAND)


def get_seconds() -> int:
    """Return how many seconds an agent may take."""
    return configuration.get_number(SECONDS)


def build_environment(state_dir: Path) -> dict[str, str]:
    """Build the environment of the command: a few names, and the agent's home."""
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return passed | {"OPENCLAW_STATE_DIR": str(state_dir)}
