import os

from django.conf import settings
from django.db import connections
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands import option_types
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, REFUSED, WRONG_USE, Verb
from openclaw_web.disk import site_address
from operations.server import supervisor

from ... import showcase, wrong_memory


class Command(Verb):
    help = gettext_lazy("Create demonstration data, import it and serve the site, until stopped.")
    examples = ("demo", "demo --port 9000 --fresh", "demo --no-serve --json")
    statuses = (DONE, FAILED, WRONG_USE, REFUSED, INTERRUPTED)
    schema = "openclaw-web.demo.v1"
    is_server = True
    needs_database = False  # brought up to date on the way

    def add_arguments(self, parser):
        parser.add_argument(
            "--port", type=option_types.port, default=site_address.PORT, help=_("port to listen on (8765)")
        )
        parser.add_argument("--fresh", action="store_true", help=_("remove an earlier demo and create a new one"))
        parser.add_argument("--no-serve", dest="serve", action="store_false", help=_("only prepare the data"))

    def run(self, port, fresh, serve, **options):
        site = supervisor.Options(port=port or supervisor.find_free_port())
        path_of_link = self._prepare_apart(fresh) if serve else showcase.prepare(self.say, is_fresh=fresh)
        address = site_address.running_site_address() or site_address.site_address(port=site.port)
        link = address + path_of_link
        for sight, path in wrong_memory.list_sights():
            self.say(f"{sight}: {address}{path}")
        facts = {"link": link, "home": str(settings.HOME_DIR), "source": str(settings.STATE_DIR), "serves": serve}
        self.answer(facts, _("Sign in within a day with this one-time link: %(link)s") % {"link": link})
        self.stdout.flush()
        if serve:
            with wrong_memory.allow_own_workspaces():
                raise SystemExit(supervisor.serve(site, self.say))

    def _prepare_apart(self, fresh):
        """Prepare the data in a process of its own, and return the path of the link.

        The memory that this takes would otherwise belong to every process of the site as long as it runs.
        """
        connections.close_all()
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            path_of_link = showcase.prepare(self.say, is_fresh=fresh)
            self.stdout.flush()
            os.write(writer, path_of_link.encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as file:
            path_of_link = file.read()
        if status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):  # it has said why
            raise SystemExit(status if status > 0 else 1)
        return path_of_link
