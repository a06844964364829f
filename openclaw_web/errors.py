"""What a person may be told when something fails, and how that is answered: on pages as in the API."""


class UserFacingError(Exception):
    """A failure that knows its own answer: a sentence that says what to do next, and the three below.

    `reasons` may hold one line per offending row: `{"id": ..., "reason": ...}`. `ways` lead on from its page, as
    (label, address). Other exceptions are bugs.
    """

    status = 409
    code: str | None = None  # for programs; None: the word of the status, see api/problems.py
    is_of_store = False  # the store needs somebody: pages offer the doctor, and the log has a line

    def __init__(self, sentence, *, reasons=(), ways=()):
        super().__init__(str(sentence))
        self.sentence = sentence
        self.reasons = list(reasons)
        self.ways = list(ways)

    @property
    def headers(self):
        """What the answer says beside its body."""
        return {}


class Refused(UserFacingError):
    """The request was understood and not carried out."""


class Outdated(Refused):
    """Somebody changed the thing since the version that the request names: look at it again."""

    status = 412
