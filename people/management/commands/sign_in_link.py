from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.verbs import Verb
from openclaw_web.disk import site_address

from ...accounts import services as accounts


class Command(Verb):
    help = gettext_lazy("Print a one-time sign-in link for a user, valid for 24 hours.")
    examples = ("sign_in_link mei", "sign_in_link mei --address https://claw.example")
    schema = "openclaw-web.sign_in_link.v1"

    def add_arguments(self, parser):
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--address", help=_("address of the site (that of the running site)"))

    def run(self, name, address, **options):
        user = accounts.get_user(name)
        link = site_address.address_of_links(address) + accounts.make_sign_in_link(user)
        self.answer({"name": user.username, "link": link}, link)
