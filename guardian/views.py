"""Pages of the files of an agent's workspace, and of one file with its versions."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

from django import forms
from django.http import Http404, HttpResponse, QueryDict
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from agents.models import Agent
from artifacts.lint import lint_text
from openclaw_web.diffs import line_diff, unified_format
from openclaw_web.lists.paging import read_cursors
from openclaw_web.pages.html import render_page

from . import services, tool_writes, versions
from .detail import document, history, line_blame, page
from .files import MEMORY_FILES
from .standing import attach_standings, read_standing
from .standing.files import count_search_chunks

BIGGEST = 10_000_000
LONGEST_SEARCH = 200  # characters


class FileForm(forms.Form):
    """The version that is read or downloaded, the two that are compared, and what is shown of the text.

    `at` is the number of a version among the newest ones, counted from 1; `q` are words that lines have to contain.
    """

    at = forms.IntegerField(required=False, min_value=1, max_value=versions.COUNTED_UP_TO)
    line = forms.IntegerField(required=False, min_value=1, max_value=BIGGEST)
    exact = forms.BooleanField(required=False)

    def __init__(self, data):
        super().__init__(data)
        for name in ("from", "to", "version", "download"):  # `from` cannot be written as an attribute
            self.fields[name] = forms.CharField(required=False, max_length=1_000, strip=False)


@dataclass(slots=True)
class FileRequest:
    """The request for a page of a file.

    `version` is the one that is read, with its `number` among the newest `count` of `amount` (or more) versions;
    `until` is when the next one replaced it. `old` is None when `new` is the first version and the address chooses
    nothing else.
    """

    version: Any
    old: Any
    new: Any
    number: int
    count: int
    amount: int
    until: int | None
    line: int
    is_exact: bool
    is_download: bool
    is_compared: bool  # false when a file has one version and the address names none


def read_file_request(agent: Agent, newest: Any, query: QueryDict) -> FileRequest:
    """Read which versions of a file an address names; defaults where it names none. `newest` is its newest version.

    Raises Http404 for other versions.
    """
    form = FileForm(query)
    if not form.is_valid():
        raise Http404
    chosen, name = form.cleaned_data, newest.file_name
    versions_by_id = {newest.id: newest}

    def find_version(version_id, default):
        if not version_id:
            return default
        if version_id not in versions_by_id:
            versions_by_id[version_id] = versions.find_version(agent, version_id)
        if versions_by_id[version_id] is None or versions_by_id[version_id].file_name != name:
            raise Http404
        return versions_by_id[version_id]

    held_versions = services.find_held_versions(agent.db, name)
    amount = held_versions.order_by().values("id")[: versions.COUNTED_UP_TO + 1].count()
    count = min(amount, versions.COUNTED_UP_TO)
    number = min(chosen["at"] or count, count)
    version = held_versions.order_by(*versions.ORDER)[count - number :].first() if number < count else newest
    version = find_version(chosen["download"] or chosen["version"], version)
    new = find_version(chosen["to"], version)
    old = find_version(chosen["from"], None) if chosen["from"] else versions.find_previous(new)
    later_versions = held_versions.filter(created_at__gte=version.created_at)
    later_versions = later_versions.exclude(created_at=version.created_at, id__lte=version.id)
    later = later_versions.order_by("created_at", "id").values_list("created_at", flat=True)[:count]
    return FileRequest(
        version=version,
        old=old,
        new=new,
        number=max(1, count - len(later)),
        count=count,
        amount=amount,
        until=later[0] if later else None,
        line=chosen["line"] or 1,
        is_exact=chosen["exact"],
        is_download=bool(chosen["download"]),
        is_compared=bool(chosen["from"] or chosen["to"] or old),
    )


HITS_SHOWN = 50
NOTES_SHOWN = 20
LINTED_CHARACTERS = 1_000_000


@require_safe
@agent_view_for("viewer")
def file_list(request, agent):
    """List the five memory files, the files that every session reads, and the others.

    Daily notes form one group. With `folder=memory`, only they are listed, in pages.
    """
    is_folder = request.GET.get("folder") == versions.NOTES.rstrip("/")
    others = versions.read_other_files(agent, notes=is_folder, **read_cursors(request))
    is_start = not is_folder and others.previous is None and not request.GET.get("after")
    first = versions.read_first_files(agent) if is_start else []
    attach_standings(agent, first)
    context = {"agent": agent, "files": [*first, *others], "others": others, "is_folder": is_folder}
    context["notes"] = versions.read_other_files(agent, notes=True, size=NOTES_SHOWN) if is_start else []
    context["folder"] = versions.NOTES
    context["note_count"] = versions.count_notes(agent) if context["notes"] else 0
    return render_page(request, "guardian/file_list.html", context)


@require_safe
@agent_view_for("viewer")
def file_detail(request, agent, name):
    """Show one file as a document at one of its versions, what changed, and its history.

    With `download`, the version as a file. A memory file that no import has seen has its writes at most.
    """
    is_memory = name in MEMORY_FILES
    newest = versions.find_newest(agent, name)
    if newest is None and not is_memory:
        raise Http404
    file_request = read_file_request(agent, newest, request.GET) if newest else None
    if file_request and file_request.is_download:
        version = file_request.version
        response = HttpResponse(version.content, content_type="text/plain; charset=utf-8")
        file_name = "".join(filter(str.isprintable, version.file_name.rpartition("/")[2])) or "file"
        response["Content-Disposition"] = content_disposition_header(True, file_name)
        return response
    context = {"agent": agent, "name": name, "is_memory": is_memory, "file_request": file_request}
    context |= _build_version_context(request, agent, name, file_request) if file_request else {}
    if is_memory:
        context["names"], context["standing"] = versions.find_memory_names(agent), read_standing(agent, name)
    if not request.htmx:  # the slider asks for the text alone
        context |= _build_history_context(request, agent, name)
    return render_page(request, "guardian/file_detail.html", context, partial="list_part")


def _build_version_context(request, agent, name, file_request):
    """Build the context of a version of a file: its text, and what changed."""
    version, is_unified = file_request.version, request.GET.get("view") == page.UNIFIED
    blame = line_blame.FileBlame(agent.db, name).blame_version(version, file_request.until)
    if file_request.line > max(len(blame.lines), 1):
        raise Http404
    old, new = file_request.old, file_request.new
    diff = line_diff.compare(old.content if old else None, new.content) if file_request.is_compared else None
    view = line_diff.build_view(diff) if diff else None
    search = request.GET.get("q", "")[:LONGEST_SEARCH]
    return {
        **document.build_document_context(agent, blame, file_request.line, search, is_text=file_request.is_exact),
        "hits": list(islice(lint_text(version.content[:LINTED_CHARACTERS]), HITS_SHOWN)),
        "diff": diff,
        "view": unified_format.to_one_column(view) if view and is_unified else view,
        "is_unified": is_unified,
    }


def _build_history_context(request, agent, name):
    """Build the context of the history of a file, and of the tool calls that wrote it."""
    show = request.GET.get("show", "")
    show = show if show in (history.CHANGES, history.EVERYTHING) else history.FOLDED
    size = history.PAGE_SIZE if show == history.EVERYTHING else history.FOLDED_PAGE_SIZE
    events = history.read_timeline(agent, name, size=size, **read_cursors(request))
    tool_calls = tool_writes.find_tool_writes(agent, name, after=request.GET.get("older"))
    is_note = name.startswith(versions.NOTES)
    return {
        **history.build_history_context(agent.db, events, show),
        "writes": tool_calls,
        "writers": tool_writes.group_by_version(tool_calls),
        "searched": tool_writes.WINDOW,
        "is_note": is_note,
        "search_chunks": count_search_chunks(agent, name) if is_note else None,
    }
