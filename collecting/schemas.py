"""What a collect is asked for in the JSON API."""

from typing import Any

from django.conf import settings
from pydantic import Field

from openclaw_web.endpoints.schemas import Body


class CollectIn(Body):
    include_deleted: bool = Field(False, description="also import deleted and reset sessions")

    def params(self) -> dict[str, Any]:
        """What the job takes, spelled as the page's button spells it, so that equal wishes are one job."""
        source = {"source": str(settings.STATE_DIR)}
        return source | {"include_deleted": True} if self.include_deleted else source
