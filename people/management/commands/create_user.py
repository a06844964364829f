from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.verbs import Verb
from openclaw_web.disk import site_address

from ...accounts import services as accounts
from ...authentication import links
from ...models import User


class Command(Verb):
    help = gettext_lazy("Add a user and print a one-time sign-in link.")
    examples = (
        "create_user mei",
        "create_user arjun --role labeller --address https://claw.example",
        "create_user mei --json | jq -r .link",
    )
    schema = "openclaw-web.create_user.v1"

    def add_arguments(self, parser):
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--role", choices=User.Role.values, default=User.Role.VIEWER, help=_("role of the user (viewer)")
        )
        parser.add_argument("--address", help=_("address of the site (that of the running site)"))

    def run(self, name, role, address, **options):
        user, path = accounts.add_user(name, role)
        link = site_address.address_of_links(address) + path
        self.answer({"name": user.username, "role": user.role, "link": link}, link)
        if not links.has_admin():
            self.stderr.write(
                _("There is no admin yet. openclaw-web serve prints a link that creates the first admin.")
            )
