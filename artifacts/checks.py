"""The doctor's checks of artifact contents.

The doctor runs them for all agents in one walk over the store.
"""

from django.utils.translation import gettext_lazy as _

from openclaw_web.sqlite import integrity
from openclaw_web.sqlite.integrity import Check

from . import services

GONE = Check(name="artifact_gone", sentence=integrity.LACKING, noun="contents", target=_("content"), advice="")
RESIZED = Check(
    name="artifact_size", sentence=integrity.DIFFERENT, noun="contents", target=_("the stored size"), advice=""
)
UNNAMED = Check(
    name="artifact_metadata",
    sentence=integrity.LACKING,
    noun="contents",
    target=_("metadata"),
    repair=lambda agent: services.write_metadata(agent.db),
)
DAMAGED = Check(name="artifact_damaged", sentence=integrity.DAMAGED, noun="contents", advice="")
LOOSE = Check(
    name="artifact_loose",
    sentence=integrity.LACKING,
    noun="files",
    target=_("artifact"),
    advice=_("openclaw-web artifact gc removes such files."),
    is_note=True,
)
CHECKS = (GONE, RESIZED, UNNAMED, DAMAGED, LOOSE)
