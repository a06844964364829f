from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands import option_types
from openclaw_web.commands.verbs import DONE, FAILED, REFUSED, WRONG_USE, Verb
from openclaw_web.disk import site_address

from ...server import supervisor
from ...server.database_update import FailedUpdate


class Command(Verb):
    help = gettext_lazy("Serve the site, run its jobs and watch the OpenClaw folder, until stopped.")
    examples = ("serve", "serve --port 9000 --workers 4", "serve --host 0.0.0.0 --no-watch")
    statuses = (DONE, FAILED, WRONG_USE, REFUSED)
    is_server = True
    needs_database = False  # the supervisor updates it

    def add_arguments(self, parser):
        parser.add_argument(
            "--host",
            type=option_types.host,
            default="127.0.0.1",
            help=_("address to listen on (127.0.0.1: this machine only)"),
        )
        parser.add_argument(
            "--port",
            type=option_types.port,
            default=site_address.PORT,
            help=_("port to listen on; 0 takes any free port (8765)"),
        )
        processes, threads = option_types.whole_number(1, 100), option_types.whole_number(1, 1000)
        parser.add_argument(
            "--workers", type=processes, default=2, help=_("most web processes; the others start when one is busy (2)")
        )
        parser.add_argument("--threads", type=threads, default=8, help=_("threads in each web process (8)"))
        parser.add_argument("--no-watch", dest="watch", action="store_false", help=_("do not import automatically"))

        parser.add_argument("--include-deleted", action="store_true", help=_("also import deleted and reset sessions"))
        parser.add_argument(
            "--no-backup",
            dest="with_backup",
            action="store_false",
            help=_("do not create a backup before databases of an older version are updated"),
        )

    def run(self, host, port, workers, threads, watch, include_deleted, with_backup, **options):
        if not supervisor.is_loopback(host) and not settings.HTTPS:
            self.stderr.write(
                _(
                    "Warning: the site uses plain HTTP and listens on %(host)s. In a container, publish the port on "
                    "127.0.0.1 only. Where other machines can reach the port, put a TLS proxy in front of the site, "
                    "set OPENCLAW_WEB_HTTPS=1 and add the site's name to OPENCLAW_WEB_ALLOWED_HOSTS."
                )
                % {"host": host}
            )
        serve_options = supervisor.Options(host, port, workers, threads, watch, include_deleted, with_backup)
        try:
            raise SystemExit(supervisor.serve(serve_options, self.say))
        except FailedUpdate as failure:
            self.fail(failure.sentence, FAILED)
