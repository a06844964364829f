"""What a browser complains of while a test drives it."""

# What htmx says of a request that was under way when its page was left: a list, the number beside Review, what is new.
LEFT_EARLY = ("htmx:afterRequest", "htmx:sendAbort", "htmx:sendError")


def listen(page, complaints):
    """Add every error of a page's console and scripts to the list `complaints`."""

    def heard(message):
        if message.type == "error" and not message.text.startswith(LEFT_EARLY):
            complaints.append(message.text)

    page.on("console", heard)
    page.on("pageerror", lambda error: complaints.append(str(error)))
