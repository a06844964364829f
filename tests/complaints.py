"""Collects the console errors of a browser that a test drives."""

# htmx reports these for a request that was running when the browser left its page: they are no faults of ours.
LEFT_EARLY = ("htmx:afterRequest", "htmx:sendAbort", "htmx:sendError")


def listen(page, complaints):
    """Add every error of a page's console and scripts to the list `complaints`."""

    def add_error(message):
        if message.type == "error" and not message.text.startswith(LEFT_EARLY):
            complaints.append(message.text)

    page.on("console", add_error)
    page.on("pageerror", lambda error: complaints.append(str(error)))
