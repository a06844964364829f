from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.commands.verbs import Verb

from ...accounts import tokens
from ...models import User

DAYS = range(3651)


class Command(Verb):
    help = gettext_lazy("Create an API token for a user and print it once.")
    examples = (
        "create_token mei --name nightly > token.txt",
        "create_token mei --name dashboard --role viewer --days 365",
        "create_token mei --name nightly --json | jq -r .token",
    )
    schema = "openclaw-web.create_token.v1"

    def add_arguments(self, parser):
        parser.add_argument("user", metavar="USER", help=_("name of the user"))
        parser.add_argument("--name", required=True, help=_("purpose of the token, at most 100 characters"))
        parser.add_argument(
            "--role",
            choices=User.Role.values,
            default=User.Role.VIEWER,
            help=_("at most the role of the user (viewer)"),
        )
        parser.add_argument(
            "--days",
            type=int,
            choices=DAYS,
            default=90,
            metavar="N",
            help=_("expires after this many days, at most 3650; 0 = never (90)"),
        )

    def run(self, user, name, role, days, **options):
        token, text = tokens.make_token_for(user, name=name, role=role, days=days)
        facts = {"user": user, "name": token.name, "role": role, "expires_at": token.expires_at}
        self.answer({**facts, "id": token.id, "prefix": token.prefix, "token": text}, text)
