"""Errors of reading and storing artifacts."""

from openclaw_web.errors import Refused


class NoSuchArtifact(Refused):
    """The agent has no such artifact, or its content is gone."""

    status = 404


class MissingContent(Refused):
    """The agent has the artifact, and its content is not in the store any more."""

    status = 410


class DamagedArtifact(Refused):
    """The file on disk is not what was stashed."""


class NoRoom(Refused):
    """The disk or a quota is full, or the store cannot be written."""


class WrongSelector(Refused):
    """A selector that selects nothing of any content.

    Such as an invalid path, or lines that end before they begin.
    """
