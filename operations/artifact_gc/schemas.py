"""API schemas of the garbage collection of artifacts."""

from pydantic import Field

from openclaw_web.endpoints.schemas import Body


class ClearingIn(Body):
    older_than: str = Field("0s", max_length=12, description="only artifacts stored longer ago: 12h, 7d, …")
    dry_run: bool = Field(True, description="only count what would be removed")
