"""The one exception family a person may see."""


class Refused(Exception):
    """The request was understood and not carried out; the message is a sentence that says what to do next.

    `reasons` may hold one line per offending row: `{"id": ..., "reason": ...}`. `status` is the answer's, of a page
    as of the API.
    """

    status = 409

    def __init__(self, sentence, *, reasons=()):
        super().__init__(str(sentence))
        self.sentence = sentence
        self.reasons = list(reasons)


class Outdated(Refused):
    """Somebody changed the thing since the version that the request names: look at it again."""
