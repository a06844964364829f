from functools import partial

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands import option_types
from openclaw_web.commands.verbs import DONE, FAILED, INTERRUPTED, REFUSED, WRONG_USE, Verb
from openclaw_web.disk import site_address
from operations.server import preparation, supervisor

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
        if not serve:
            self._prepare(site, fresh, serve)
            return
        with preparation.run_apart(partial(self._prepare, site, fresh, serve)):
            pass
        with wrong_memory.allow_own_workspaces():
            raise SystemExit(supervisor.serve(site, self.say))

    def _prepare(self, site, fresh, serve):
        path_of_link = showcase.prepare(self.say, is_fresh=fresh)
        address = site_address.running_site_address() or site_address.site_address(port=site.port)
        link = address + path_of_link
        for sight, path in wrong_memory.list_sights():
            self.say(f"{sight}: {address}{path}")
        facts = {"link": link, "home": str(settings.HOME_DIR), "source": str(settings.STATE_DIR), "serves": serve}
        self.answer(facts, _("Sign in within a day with this one-time link: %(link)s") % {"link": link})
        self.stdout.flush()
