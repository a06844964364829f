"""All files of an export as one download."""

import io
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasets.exports import exports
from openclaw_web.pages import zips
from people.models.bookkeeping import AuditEntry
from tests.factories import ExportFactory

API = "/api/v1/exports"
FOLDER = "ocl_First-try_alpaca"
database = pytest.mark.django_db


def addresses(export):
    return [f"/exports/{export.id}/zip/", f"{API}/{export.id}/zip"]


def content(answer):
    assert answer.status_code == 200, answer.content
    data = b"".join(answer.streaming_content)
    answer.close()
    return data


@database
def test_it_works(as_reviewer, export):
    folder = exports.folder_of(export)
    assert "Download all (.zip)" in as_reviewer.get(export.get_absolute_url()).text
    downloads = []
    for address in addresses(export):
        answer = as_reviewer.get(address)
        assert answer["Content-Type"] == "application/zip"
        assert answer["Content-Disposition"] == f'attachment; filename="{FOLDER}.zip"'
        downloads.append(content(answer))
        assert int(answer["Content-Length"]) == len(downloads[-1])
    assert downloads[0] == downloads[1]
    with zipfile.ZipFile(io.BytesIO(downloads[0])) as archive:
        assert archive.testzip() is None
        names = {f"{FOLDER}/{file.name}" for file in folder.iterdir()}
        assert set(archive.namelist()) == names and len(names) == 5
        for file in folder.iterdir():
            assert archive.read(f"{FOLDER}/{file.name}") == file.read_bytes()
    assert [(entry.object_id, entry.via) for entry in AuditEntry.objects.filter(action="downloaded")] == [
        (export.id, "page"),
        (export.id, "api"),
    ]


@database
def test_what_is_not_whole_is_not_sent(as_reviewer, export):
    folder = exports.folder_of(export)
    (folder / "README.md").write_text("shorter")
    for address in addresses(export):
        answer = as_reviewer.get(address)
        assert answer.status_code == 409 and "README.md is missing or was changed" in answer.text


@database
@pytest.mark.parametrize("state", ["waiting", "running", "refused", "failed"])
def test_an_export_without_files_has_no_zip(own_home, as_reviewer, state):
    export = ExportFactory(state=state)
    assert [as_reviewer.get(address).status_code for address in addresses(export)] == [404, 404]


@database
def test_it_takes_one_of_the_places_for_downloads(settings, as_reviewer, export):
    settings.DOWNLOADS = 1
    first = as_reviewer.get(addresses(export)[1])
    assert as_reviewer.get(addresses(export)[1]).status_code == 503
    assert content(first)
    assert as_reviewer.get(addresses(export)[1]).status_code == 200


def test_a_file_that_changes_while_it_is_sent_breaks_off(tmp_path):
    for later in (b"longer than before", b"less"):
        (tmp_path / "a").write_bytes(b"as it was.")
        parts = zips.stream_zip([zips.ZipEntry("a", tmp_path / "a", 10)])
        head = next(part for part in parts if part)
        (tmp_path / "a").write_bytes(later)
        with pytest.raises(zips.FileChanged):
            list(parts)
        assert head


names = st.text(st.characters(codec="utf-8", exclude_characters="/\\\0"), min_size=1, max_size=40)


@given(files=st.dictionaries(names, st.binary(max_size=600), max_size=5), most=st.sampled_from([zips.MOST, 200, 10]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_files_come_out_as_they_went_in(tmp_path, monkeypatch, files, most):
    """Fields for large files begin at `most` bytes here instead of 4 GiB."""
    monkeypatch.setattr(zips, "MOST", most)
    packed = []
    for number, (name, data) in enumerate(files.items()):
        (tmp_path / str(number)).write_bytes(data)
        packed.append(zips.ZipEntry(name, tmp_path / str(number), len(data)))
    made = b"".join(zips.stream_zip(packed))
    assert len(made) == zips.compute_length(packed)
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert archive.testzip() is None
        assert {info.filename: archive.read(info) for info in archive.infolist()} == files
        assert {info.date_time for info in archive.infolist()} <= {(1980, 1, 1, 0, 0, 0)}
