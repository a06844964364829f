"""The API of imported sets."""

from io import BytesIO
from typing import Literal

from ninja import Status
from pydantic import Field

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Body, Schema
from openclaw_web.pages.roles import needs

from .rows import FORMATS
from .service import import_set

router = Operations("datasets_import_api", tags=["samples"])


class ImportIn(Body):
    """A judged set as text: larger files are uploaded on the page."""

    name: str = Field(max_length=40, description="lower-case letters, digits and hyphens; the agent is `set:` and this")
    format: Literal[tuple(FORMATS)]  # type: ignore[valid-type]
    text: str = Field(max_length=4_000_000, description="JSON lines or a JSON array")


class ImportOut(Schema):
    name: str
    rows: int
    new: int = Field(description="samples created")
    known: int = Field(description="samples that were there already")
    judged: int = Field(description="of the new ones, those that came with a verdict")
    systems: int = Field(description="messages of the system, which are not stored")
    sha256: str


@router.post("/samples/import", {201: ImportOut}, 400)
@needs("operator")
def set_import(request, body: ImportIn):
    """Create samples from the rows of another tool; nothing is stored when a row is wrong."""
    file = BytesIO(body.text.encode(errors="surrogatepass"))
    return Status(201, import_set(file, name=body.name, row_format=body.format, by=request.user.username))
