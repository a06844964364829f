from django.apps import AppConfig


class OverviewConfig(AppConfig):
    name = "overview"

    def ready(self):
        """Keep up with writes that are recorded or rolled back; forget words when somebody opts out."""
        from guardian.services import memory_changed
        from people.configuration.keys import setting_changed

        from . import memory_sums
        from .first_page import forgetting

        memory_changed.connect(memory_sums.refresh_db)
        setting_changed.connect(forgetting.forget)
