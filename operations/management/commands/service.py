import re
import sys

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands import option_types
from openclaw_web.commands.groups import Group, Outcome, VerbModule, WrongUse
from openclaw_web.commands.verbs import DONE, FAILED, REFUSED, WRONG_USE
from openclaw_web.disk import site_address
from openclaw_web.errors import Refused

from ...server.supervisor import is_loopback
from ...service import services
from ...service.unit import InstalledOptions

HOST = re.compile(r"[0-9A-Za-z:][0-9A-Za-z.:-]*")  # addresses and names, without anything that a unit would need quoted


class Install:
    HELP = gettext_lazy("Write the unit for this home and start it, now and with the machine.")
    EXAMPLES = ("service install", "service install --port 9000 --no-start", "service install --print")

    def add_arguments(self, parser):
        parser.add_argument(
            "--host", default="127.0.0.1", help=_("address to listen on (127.0.0.1: this machine only)")
        )
        parser.add_argument(
            "--port",
            type=option_types.whole_number(1, 65535),
            default=site_address.PORT,
            help=_("port to listen on (8765)"),
        )
        parser.add_argument(
            "--user", default="", metavar="NAME", help=_("for root: the user that the site runs as (owner of the home)")
        )
        parser.add_argument("--print", action="store_true", help=_("only print the unit, also without systemd"))
        parser.add_argument(
            "--no-start", dest="start", action="store_false", help=_("write the unit, without starting it")
        )

    def run(self, host, port, user, start, json, **options):
        chosen = InstalledOptions(_check_host(host), port, user)
        if not options["print"]:
            return _build_outcome("install", services.install(chosen, starts=start))
        unit = services.print_unit(chosen)
        if not json:  # as it is: an escaped path would be another path
            sys.stdout.buffer.write(unit.encode())
            sys.stdout.flush()
        return Outcome({**services.BLANK_FACTS, "verb": "install", "unit": unit}, "")


class Status(VerbModule):
    HELP = gettext_lazy("Show whether the service is installed, runs and is up to date.")
    EXAMPLES = ("service status", "service status --json | jq .active")

    def run(self, **options):
        return _build_outcome("status", services.describe())


class Remove(VerbModule):
    HELP = gettext_lazy("Stop the service and remove its unit. All data are kept.")
    EXAMPLES = ("service remove",)

    def run(self, **options):
        return _build_outcome("remove", services.remove())


class Command(Group):
    help = gettext_lazy("Install the site as a service of systemd; show and remove the service.")
    examples = (*Install.EXAMPLES, *Status.EXAMPLES, *Remove.EXAMPLES)
    verbs = {"install": Install(), "status": Status(), "remove": Remove()}
    statuses = (DONE, FAILED, WRONG_USE, REFUSED)
    schema = "openclaw-web.service.v1"
    # Root may run it for another user: files of this process would be root's.
    needs_database = works_in_home = False


def _check_host(host):
    if not HOST.fullmatch(host):
        raise WrongUse(_("--host must be an address or a name, not %(host)s.") % {"host": host})
    if not is_loopback(host) and not settings.HTTPS:
        sentence = _(
            "Other machines can reach %(host)s, and the site uses plain HTTP. Put a TLS proxy in front of the site, "
            "set OPENCLAW_WEB_HTTPS=1 and add the site's name to OPENCLAW_WEB_ALLOWED_HOSTS."
        )
        raise Refused(sentence % {"host": host})
    return host


def _build_outcome(verb, report):
    return Outcome({**report.facts, "verb": verb, "unit": ""}, "\n".join(report.sentences))
