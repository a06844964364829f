"""Failures with a sentence for people, answered alike on pages and in the API."""


class UserFacingError(Exception):
    """A failure with its own answer: a sentence that says what to do next.

    `status`, `code` and `headers` belong to the answer too.

    `reasons` may hold one line per offending row: `{"id": ..., "reason": ...}`. `ways` lead on from its page, as
    (label, address). Other exceptions are bugs.
    """

    status = 409
    code: str | None = None  # for programs; None: the code of the status, see endpoints/error_responses.py
    is_of_store = False  # the store needs attention: pages link to the doctor, and the log gets a line

    def __init__(self, sentence, *, reasons=(), ways=()):
        super().__init__(str(sentence))
        self.sentence = sentence
        self.reasons = list(reasons)
        self.ways = list(ways)

    @property
    def headers(self):
        """Further headers of the answer."""
        return {}


class UnusableFile(UserFacingError):
    """An agent's file cannot be used: pages of all agents leave it out and name the agent."""


class Refused(UserFacingError):
    """The request was understood and not carried out."""


class Outdated(Refused):
    """The object was changed since the version that the request names."""

    status = 412
