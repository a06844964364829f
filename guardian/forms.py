"""Forms of the file pages: which versions, and from which line on."""

from dataclasses import dataclass

from django import forms
from django.http import Http404, QueryDict

from agents.models import Agent

from . import versions

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
