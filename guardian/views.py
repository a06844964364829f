"""Pages of the files of an agent's workspace, and of one file with its versions."""

from dataclasses import dataclass
from itertools import chain, islice

from django import forms
from django.http import Http404, HttpResponse, QueryDict
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from agents.decorators import agent_view_for
from agents.models import Agent
from artifacts.lint import lint_text
from openclaw_web.diffs import line_diff, text_excerpts
from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages.html import render_page

from . import tool_writes, versions
from .detail import related_writes
from .files import MEMORY_FILES
from .standing import attach_standings, read_standing
from .standing.files import count_search_chunks

BIGGEST = 10_000_000


class FileForm(forms.Form):
    """The versions that are compared, read or downloaded, and the line where reading begins."""

    line = forms.IntegerField(required=False, min_value=1, max_value=BIGGEST)

    def __init__(self, data):
        super().__init__(data)
        for name in ("from", "to", "version", "download"):  # `from` cannot be written as an attribute
            self.fields[name] = forms.CharField(required=False, max_length=1_000, strip=False)


@dataclass(slots=True)
class FileRequest:
    """The request for a page of a file.

    `old` is None when `new` is the first version and the address chooses nothing else.
    """

    version: object
    old: object
    new: object
    line: int
    is_download: bool
    is_compared: bool  # false when a file has one version and the address names none


def read_file_request(agent: Agent, name: str, query: QueryDict) -> FileRequest:
    """Read which versions of a file an address names; defaults where it names none.

    Raises Http404 for other versions.
    """
    form = FileForm(query)
    newest = versions.find_newest(agent, name)
    if newest is None or not form.is_valid():
        raise Http404
    chosen = form.cleaned_data
    versions_by_id = {newest.id: newest}

    def find_version(version_id, default):
        if not version_id:
            return default
        if version_id not in versions_by_id:
            versions_by_id[version_id] = versions.find_version(agent, version_id)
        if versions_by_id[version_id] is None or versions_by_id[version_id].file_name != name:
            raise Http404
        return versions_by_id[version_id]

    new = find_version(chosen["to"], newest)
    old = find_version(chosen["from"], None) if chosen["from"] else versions.find_previous(new)
    return FileRequest(
        version=find_version(chosen["download"] or chosen["version"], newest),
        old=old,
        new=new,
        line=chosen["line"] or 1,
        is_download=bool(chosen["download"]),
        is_compared=bool(chosen["from"] or chosen["to"] or old),
    )


VERSIONS_SHOWN = 20
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
    """Show one file: a version, the change between two versions, and all versions."""
    file_request = read_file_request(agent, name, request.GET)
    if file_request.is_download:
        return _download(file_request.version)
    piece = text_excerpts.cut_excerpt(file_request.version.content, file_request.line)
    if file_request.line > max(piece.count, 1):
        raise Http404
    rows = versions.find_versions(agent, name)
    page = page_of(rows, order=versions.ORDER, **read_cursors(request), size=VERSIONS_SHOWN)
    tool_calls = tool_writes.find_tool_writes(agent, name, after=request.GET.get("older"))
    diff = (
        line_diff.compare(file_request.old.content if file_request.old else None, file_request.new.content)
        if file_request.is_compared
        else None
    )
    audits = related_writes.find_by_version(agent.db, [version.id for version in page])
    context = {
        "agent": agent,
        "name": name,
        "file_request": file_request,
        "piece": piece,
        "hits": list(islice(lint_text(file_request.version.content[:LINTED_CHARACTERS]), HITS_SHOWN)),
        "amount": rows.order_by().values("id")[: versions.COUNTED_UP_TO + 1].count(),
        "counted_up_to": versions.COUNTED_UP_TO,
        "diff": diff,
        "view": line_diff.build_view(diff) if diff else None,
        "writes": tool_calls,
        "writers": tool_writes.group_by_version(tool_calls),
        "searched": tool_writes.WINDOW,
        "versions": page,
        "audits": audits,
        "decisions": related_writes.find_decisions(agent.db, chain.from_iterable(audits.values())),
        "is_memory": name in MEMORY_FILES,
        "standing": read_standing(agent, name) if name in MEMORY_FILES else None,
        "is_note": name.startswith(versions.NOTES),
        "search_chunks": count_search_chunks(agent, name) if name.startswith(versions.NOTES) else None,
    }
    return render_page(request, "guardian/file_detail.html", context)


def _download(version):
    response = HttpResponse(version.content, content_type="text/plain; charset=utf-8")
    name = version.file_name.rpartition("/")[2]
    response["Content-Disposition"] = content_disposition_header(True, "".join(filter(str.isprintable, name)) or "file")
    return response
