from django.core.management.base import BaseCommand, CommandError

from openclaw_web.errors import Refused
from operations import accounts
from operations.models import User


class Command(BaseCommand):
    help = "Add a person and print a one-time sign-in link for them."

    def add_arguments(self, parser):
        parser.add_argument("name")
        parser.add_argument("--role", choices=User.Role.values, default=User.Role.VIEWER)
        parser.add_argument("--address", default="http://127.0.0.1:8765", help="where the site is (%(default)s)")

    def handle(self, name, role, address, **options):
        try:
            _user, path = accounts.add_user(name, role)
        except Refused as refused:
            raise CommandError(refused.sentence) from refused
        self.stdout.write(address.rstrip("/") + path)
