"""The form of the page of settings, as a browser sends it."""

from html.parser import HTMLParser

PAGE = "/operations/settings/"
SAVE = f"{PAGE}save/"


class FormFields(HTMLParser):
    """Parses the form of a page into the values that a browser would send."""

    def __init__(self, page):
        super().__init__()
        self.values, self.texts = {}, None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        name = values.get("name")
        if tag == "textarea":
            self.texts, self.values[name] = name, ""
        elif tag == "input" and values.get("type") == "checkbox":
            if "checked" in values:
                self.values.setdefault(name, []).append(values.get("value", "on"))
        elif tag == "input" and name:
            self.values[name] = values.get("value", "")

    def handle_endtag(self, tag):
        self.texts = None if tag == "textarea" else self.texts

    def handle_data(self, data):
        if self.texts:
            self.values[self.texts] += data.replace("\r\n", "\n").removeprefix("\n").replace("\n", "\r\n")


def save(client, key, value):
    """Saves one setting on the page."""
    return client.post(SAVE, read_form(client) | {key: value})


def read_form(client):
    return FormFields(client.get(PAGE).text).values
