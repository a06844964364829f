from openclaw_web.commands.verbs import Verb
from openclaw_web.errors import Refused

from ...accounts import services as accounts
from ...models import User


class Command(Verb):
    help = "Print a link that signs a person in once, within 24 hours."
    examples = ("sign_in_link mei", "sign_in_link mei --address https://claw.example")
    schema = "openclaw-web.sign_in_link.v1"

    def add_arguments(self, parser):
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--address", default="http://127.0.0.1:8765", help="where the site is (%(default)s)")

    def run(self, name, address, **options):
        try:
            user = User.objects.get(username=name)
        except User.DoesNotExist as exc:
            raise Refused(f"There is no user {name}. Add one: openclaw-web create_user {name}") from exc
        link = address.rstrip("/") + accounts.make_sign_in_link(user)
        self.answer({"name": user.username, "link": link}, link)
