from django.apps import AppConfig


class OverviewConfig(AppConfig):
    name = "overview"

    def ready(self):
        """Keep the sums of memory writes up to date when writes are recorded or rolled back."""
        from guardian.services import memory_changed

        from . import memory_sums

        memory_changed.connect(memory_sums.refresh_db)
