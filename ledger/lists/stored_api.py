"""The memory index and the files in an agent's own database over the JSON API."""

from ninja import Query

from agents.decorators import agent_view_for
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, PageQuery, page_to_json

from . import stored_tables
from .stored_schemas import IndexedFileOut, VfsEntryOut

router = Operations("operations_background_api", tags=["schedules"])


@router.get("/agents/{agent}/memory-index", Page[IndexedFileOut], 404, 409, 503)
@agent_view_for("viewer")
def indexed_file_list(request, agent, filters: Query[PageQuery]):
    """Files of the memory index, with their number of chunks; never their texts or embeddings."""
    return page_to_json(stored_tables.read_rows(agent, stored_tables.STORED_LISTS, "memory", **filters.place))


@router.get("/agents/{agent}/vfs", Page[VfsEntryOut], 404, 409, 503)
@agent_view_for("viewer")
def vfs_entry_list(request, agent, filters: Query[PageQuery]):
    """Files in the agent's database, by name; `handle` is the artifact with the content."""
    return page_to_json(stored_tables.read_rows(agent, stored_tables.STORED_LISTS, "files", **filters.place))
