"""Installs, describes and removes the service."""

import os
import time
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from openclaw_web.commands.groups import Failed
from openclaw_web.disk import locks, site_address
from openclaw_web.errors import Refused
from operations.service.unit_places import get_drop_in_folder

from .service_values import ServiceValues, collect_values, list_secret_names
from .systemctl import Systemctl, has_lingering
from .unit import InstalledOptions, build_unit, read_options
from .unit_file import UnitFile, create_secrets_file, find_unit_file, remove_unused_secrets_file
from .unit_places import get_secrets_file

START_SECONDS = 60  # then the start goes on without us: a migration may take longer
RUNNING = ("active", "activating", "reloading")
# The receipt of a machine without the service.
BLANK_FACTS: dict[str, Any] = {
    "path": "", "is_installed": False, "is_changed": False, "active": "", "enabled": "", "difference": [],
    "address": None, "left": [],
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """The facts of a receipt, and the same in sentences."""

    facts: dict[str, Any]
    sentences: list[str] = field(default_factory=list)


def print_unit(options: InstalledOptions) -> str:
    """Build the unit without writing it."""
    return build_unit(collect_values(options.host, options.port, options.user))


def install(options: InstalledOptions, *, starts: bool) -> Report:
    """Write the unit and start the service, unless both is done already.

    Raises Refused before anything is changed, and Failed when systemd does not start the service.
    """
    values = collect_values(options.host, options.port, options.user)
    text, file, manager = build_unit(values), find_unit_file(), Systemctl(is_system=values.is_system)
    manager.check_reachable()
    if starts:
        _refuse_other_server(manager)
    create_secrets_file(values.secrets_file)
    difference = file.compare(text) if file.text is not None else []
    is_changed = file.text != text
    if is_changed:
        file.write(text, is_system=values.is_system)
        manager.run("daemon-reload")
    sentences = _describe_change(file, difference, is_changed)
    if starts:
        sentences += _start(manager, is_changed)
    sentences += _give_advice(values, manager, starts)
    return Report(_build_facts(manager, file, is_changed=is_changed, difference=difference), sentences)


def describe() -> Report:
    """Describe the service, and compare its file with the one that `install` would write now."""
    file, manager = find_unit_file(), Systemctl(is_system=os.geteuid() == 0)
    if file.text is None:
        facts = {"path": str(file.path), "is_installed": False}
        return Report(BLANK_FACTS | facts, [_("The service is not installed.")])
    difference, problem = _compare_with_now(file)
    facts = _build_facts(manager, file, is_changed=bool(difference or problem), difference=difference)
    sentences = [
        _("Unit: %(file)s") % {"file": file.path},
        _("systemd: %(active)s, %(enabled)s") % {"active": facts["active"], "enabled": facts["enabled"]},
    ]
    if facts["address"]:
        sentences.append(_("Address: %(address)s") % {"address": facts["address"]})
    if problem:
        sentences.append(problem)
    elif difference:
        sentences += [_("openclaw-web service install would change the unit now:"), *_indent(difference)]
    else:
        sentences.append(_("The unit is what openclaw-web service install would write now."))
    return Report(facts, sentences)


def remove() -> Report:
    """Stop the service and remove its unit. Data are kept."""
    file, manager = find_unit_file(), Systemctl(is_system=os.geteuid() == 0)
    if file.text is None:
        facts = {"path": str(file.path), "is_installed": False}
        return Report(BLANK_FACTS | facts, [_("The service is not installed.")])
    manager.check_reachable()
    manager.run("disable", "--now", file.path.name)
    file.remove()
    manager.run("daemon-reload")
    secrets_file = get_secrets_file(is_system=os.geteuid() == 0)
    sentences = [_("Stopped the service and removed %(file)s.") % {"file": file.path}]
    # The folder (drop-in) in which `systemctl edit` keeps changes of the operator.
    kept_files = [path for path in (get_drop_in_folder(file.path),) if path.exists()]
    kept_files += [] if remove_unused_secrets_file(secrets_file) else [secrets_file]
    if kept_files:
        sentences.append(_("Your own files are kept: %(files)s") % {"files": ", ".join(map(str, kept_files))})
    sentences.append(_("All data are kept in %(home)s.") % {"home": settings.HOME_DIR})
    facts = {"path": str(file.path), "is_installed": False, "is_changed": True, "left": list(map(str, kept_files))}
    return Report(BLANK_FACTS | facts, sentences)


def _build_facts(manager, file, *, is_changed, difference):
    return BLANK_FACTS | {
        "path": str(file.path),
        "is_installed": True,
        "is_changed": is_changed,
        "active": manager.get_property("ActiveState") or "unknown",
        "enabled": manager.get_property("UnitFileState") or "disabled",
        "difference": difference,
        "address": site_address.running_site_address(),
    }


def _compare_with_now(file: UnitFile) -> tuple[list[str], str]:
    """The difference from the unit of now, or a sentence that says why nobody can tell."""
    options = read_options(file.text or "")
    if options is None:
        return [], _("The unit was changed by hand: its command is not the one that install writes.")
    try:
        return file.compare(print_unit(options)), ""
    except Refused as refused:
        return [], refused.sentence


def _refuse_other_server(manager):
    if manager.get_property("ActiveState") in RUNNING:
        return
    if locks.is_held(settings.HOME_DIR / "state" / locks.SERVING):
        sentence = _(
            "OpenClaw Web is already running in %(home)s. Stop that server, or install without a start: --no-start"
        )
        raise Refused(sentence % {"home": settings.HOME_DIR})


def _describe_change(file, difference, is_changed):
    if not is_changed:
        return [_("%(file)s is up to date.") % {"file": file.path}]
    if file.text is None:
        return [_("Wrote %(file)s.") % {"file": file.path}]
    return [_("Replaced %(file)s:") % {"file": file.path}, *_indent(difference)]


def _start(manager, is_changed):
    name = "openclaw-web"
    is_running = manager.get_property("ActiveState") == "active"
    if is_running and not is_changed and manager.get_property("UnitFileState") == "enabled":
        return [_("The service is running and starts with the machine: nothing to do.")]
    if manager.get_property("ActiveState") == "failed":
        manager.run("reset-failed", name)  # a unit that failed too often would not start
    manager.run("enable", name)
    manager.run("restart" if is_running else "start", name)
    address = _wait_for_site(manager)
    if address:
        return [_("Started the service: %(address)s") % {"address": f"{address}/"}]
    return [_("The service is starting. The log says how far it is.")]


def _wait_for_site(manager):
    """The address of the started site; None when it needs more time.

    Raises Failed when it has ended.
    """
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends:
        if address := site_address.running_site_address():
            return address
        if manager.get_property("ActiveState") not in RUNNING or manager.get_property("SubState") == "auto-restart":
            sentence = _("The service did not start. The reason is in its log: %(command)s")
            raise Failed(sentence % {"command": _build_log_command(manager, "-n 30")})
        time.sleep(0.3)
    return None


def _give_advice(values: ServiceValues, manager: Systemctl, starts: bool) -> list[str]:
    advice = []
    if not starts:
        advice.append(_("To start it: %(command)s enable --now openclaw-web") % {"command": manager.words})
    advice.append(_("Log: %(command)s") % {"command": _build_log_command(manager, "-f")})
    if names := list_secret_names():
        sentence = _("%(names)s is not copied into the unit. Write it into %(file)s, then restart the service.")
        advice.append(sentence % {"names": ", ".join(names), "file": values.secrets_file})
    if not values.is_system:
        if not has_lingering(values.user):
            sentence = _("The service ends when you sign out. To keep it running: loginctl enable-linger %(user)s")
            advice.append(sentence % {"user": values.user})
        if not values.has_user_namespaces:
            advice.append(
                _("This system allows no user namespaces, so the unit does not restrict which files the site can see.")
            )
    return advice


def _build_log_command(manager, options):
    return " ".join(["journalctl", *manager.kind_options, "-u openclaw-web", options])


def _indent(lines):
    return [f"  {line}" for line in lines]
