"""The memory index and the files in an agent's own database in the JSON API."""

from openclaw_web.endpoints.table_schemas import table_schema

from ..models import IndexedFile, VfsEntry


class IndexedFileOut(table_schema(IndexedFile)):
    pass


class VfsEntryOut(table_schema(VfsEntry)):
    pass
