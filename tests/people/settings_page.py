"""The form of the page of settings, as a browser would send it."""

from html.parser import HTMLParser

PAGE = "/operations/settings/"
SAVE = f"{PAGE}save/"


class Fields(HTMLParser):
    """What a browser sends from the form of a page when nobody touches it."""

    def __init__(self, page):
        super().__init__()
        self.values, self.texts = {}, None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        name = found.get("name")
        if tag == "textarea":
            self.texts, self.values[name] = name, ""
        elif tag == "input" and found.get("type") == "checkbox":
            if "checked" in found:
                self.values.setdefault(name, []).append(found.get("value", "on"))
        elif tag == "input" and name:
            self.values[name] = found.get("value", "")

    def handle_endtag(self, tag):
        self.texts = None if tag == "textarea" else self.texts

    def handle_data(self, data):
        if self.texts:
            self.values[self.texts] += data.replace("\r\n", "\n").removeprefix("\n").replace("\n", "\r\n")


def save(client, key, value):
    """Save one setting on the page."""
    return client.post(SAVE, drawn(client) | {key: value})


def drawn(client):
    return Fields(client.get(PAGE).text).values
