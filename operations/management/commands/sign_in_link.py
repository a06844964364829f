from django.core.management.base import BaseCommand, CommandError

from openclaw_web.errors import Refused
from operations import accounts
from operations.models import User


class Command(BaseCommand):
    help = "Print a link that signs a person in once, within 24 hours."

    def add_arguments(self, parser):
        parser.add_argument("name")
        parser.add_argument("--address", default="http://127.0.0.1:8765", help="where the site is (%(default)s)")

    def handle(self, name, address, **options):
        try:
            path = accounts.make_sign_in_link(User.objects.get(username=name))
        except User.DoesNotExist as exc:
            raise CommandError(f"There is no user {name}. Add one: openclaw-web create_user {name}") from exc
        except Refused as refused:
            raise CommandError(refused.sentence) from refused
        self.stdout.write(address.rstrip("/") + path)
