from django.core.management.base import BaseCommand

from operations import worker


class Command(BaseCommand):
    help = "Run jobs until told to stop. `serve` starts one of these by itself."

    def handle(self, **options):
        worker.work()
