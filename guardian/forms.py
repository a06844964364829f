"""What comes in through the addresses of the pages: which versions, and from which line on."""

from dataclasses import dataclass

from django import forms
from django.http import Http404, QueryDict

from agents.models import Agent

from . import versions

BIGGEST = 10_000_000


class FileForm(forms.Form):
    """Which versions of a file are compared, which one is read or downloaded, and where reading begins."""

    line = forms.IntegerField(required=False, min_value=1, max_value=BIGGEST)

    def __init__(self, data):
        super().__init__(data)
        for name in ("from", "to", "version", "download"):  # `from` cannot be written as an attribute
            self.fields[name] = forms.CharField(required=False, max_length=1_000, strip=False)


@dataclass(slots=True)
class FileRequest:
    """What an address asks of a file: `old` is None when `new` is the first version and nothing else was chosen."""

    shown: object
    old: object
    new: object
    line: int
    is_download: bool
    is_compared: bool  # not when a file has one version and nobody chose it


def read_file_request(agent: Agent, name: str, query: QueryDict) -> FileRequest:
    """The versions that an address names, those a reader expects where it names none. Http404 for others."""
    form = FileForm(query)
    newest = versions.find_newest(agent, name)
    if newest is None or not form.is_valid():
        raise Http404
    chosen = form.cleaned_data
    found = {newest.id: newest}

    def version(version_id, otherwise):
        if not version_id:
            return otherwise
        if version_id not in found:
            found[version_id] = versions.find_version(agent, version_id)
        if found[version_id] is None or found[version_id].file_name != name:
            raise Http404
        return found[version_id]

    new = version(chosen["to"], newest)
    old = version(chosen["from"], None) if chosen["from"] else versions.find_previous(new)
    return FileRequest(
        shown=version(chosen["download"] or chosen["version"], newest),
        old=old,
        new=new,
        line=chosen["line"] or 1,
        is_download=bool(chosen["download"]),
        is_compared=bool(chosen["from"] or chosen["to"] or old),
    )
