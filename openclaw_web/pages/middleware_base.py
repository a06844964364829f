"""The base class of our middleware."""


class Middleware:
    """Passes each request on. Subclasses do more."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        return self.get_response(request)
