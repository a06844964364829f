from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from operations import supervisor
from operations.demo import showcase


class Command(BaseCommand):
    help = "Write demonstration data, collect it and serve the site, until told to stop."
    requires_system_checks = []  # the same as for serve

    def add_arguments(self, parser):
        parser.add_argument("--port", type=int, default=8765)
        parser.add_argument("--fresh", action="store_true", help="throw an earlier demo away and write a new one")
        parser.add_argument("--no-serve", dest="serve", action="store_false", help="only prepare the data")

    def handle(self, port, fresh, serve, **options):
        site = supervisor.Options(port=port)
        try:
            link = showcase.prepare(self.say, is_fresh=fresh)
            self.say(_("Sign in once, within a day: %(link)s") % {"link": f"http://{site.host}:{port}{link}"})
            if serve:
                raise SystemExit(supervisor.serve(site, self.say))
        except Refused as exc:
            raise CommandError(exc.sentence) from exc

    def say(self, sentence):
        self.stdout.write(sentence)
        self.stdout.flush()
