"""Endpoints of the files of an agent's workspace, their versions and differences."""

from django.http import Http404
from django.utils.translation import gettext as _
from ninja import Query

from agents.decorators import agent_view_for
from openclaw_web.diffs import line_diff, unified_format
from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, PageQuery, page_to_json
from openclaw_web.lists.paging import page_of

from . import tool_writes, versions
from .schemas import (
    DiffOut,
    DiffQuery,
    FileOut,
    OneVersion,
    VersionDetail,
    VersionOut,
    VersionQuery,
    WriteOut,
)
from .standing import attach_standings

router = Operations("guardian_api", tags=["guardian"])


@router.get("/agents/{agent}/files", Page[FileOut], 404, 409, 503)
@agent_view_for("viewer")
def file_list(request, agent, filters: Query[PageQuery]):
    """Files of the workspace: the five memory files first, even if missing.

    `limit` counts the other files.
    """
    page = versions.read_other_files(agent, **filters.place)
    first = versions.read_first_files(agent) if page.previous is None and not filters.after else []
    attach_standings(agent, first)
    return page_to_json(page, [*first, *page])


@router.get("/agents/{agent}/files/versions", Page[VersionOut], 404, 409, 503)
@agent_view_for("viewer")
def file_versions(request, agent, filters: Query[VersionQuery]):
    """The versions of a file, newest first."""
    rows = versions.find_versions(agent, filters.name)
    page = page_of(rows, order=versions.ORDER, **filters.place)
    if not page and not filters.after and not filters.before:
        raise Http404(_("There is no file %(name)s.") % {"name": filters.name})
    return page_to_json(page)


@router.get("/agents/{agent}/files/writes", Page[WriteOut], 404, 409, 503)
@agent_view_for("viewer")
def file_writes(request, agent, filters: Query[VersionQuery]):
    """Calls of tools that wrote to a file, newest first.

    A search may return fewer than `limit`, and a `next`.
    """
    return page_to_json(tool_writes.find_tool_writes(agent, filters.name, **filters.place))


@router.get("/agents/{agent}/files/version", VersionDetail, 404, 503)
@agent_view_for("viewer")
def file_version(request, agent, query: Query[OneVersion]):
    """One version with its content."""
    return _get_version(agent, query.id)


@router.get("/agents/{agent}/files/diff", DiffOut, 404, 503)
@agent_view_for("viewer")
def file_diff(request, agent, query: Query[DiffQuery]):
    """The difference between two versions of a file."""
    new = _get_version(agent, query.to)
    old = _get_version(agent, query.from_id) if query.from_id else versions.find_previous(new)
    if old and old.file_name != new.file_name:
        raise Http404(_("These are versions of two files. Name two versions of one file."))
    diff = line_diff.compare(old.content if old else None, new.content)
    view = line_diff.build_view(diff)
    return {
        "old": old,
        "new": new,
        "added": diff.added,
        "removed": diff.removed,
        "is_coarse": diff.is_coarse,
        "left": view.left_out,
        "unified": unified_format.format_patch(view, new.file_name, is_new=old is None),
        "hunks": unified_format.build_hunks(view),
    }


def _get_version(agent, version_id):
    version = versions.find_version(agent, version_id)
    if version is None:
        raise Http404(_("There is no version %(name)s of a file.") % {"name": version_id})
    return version
