"""Opens the pages of datasets, sends their forms, and lists where their links lead."""

import re
from html import unescape

from django.urls import reverse

from jobs import execution

DATASET = {
    "name": "Support",
    "task": "reply",
    "only_approved": "on",
    "split_by": "session",
    "train_split": "0.5",
    "validation_split": "0",
    "seed": "0",
}


def open_page(browser, name, /, *args, **query):
    """A page of the app by its name, which has to answer."""
    answer = browser.get(reverse(f"datasets:{name}", args=args), query)
    assert answer.status_code == 200, answer.text
    return answer.text


def send_form(browser, name, /, *args, **fields):
    """Send a form of the app by its name, and run the jobs it queued."""
    answer = browser.post(reverse(f"datasets:{name}", args=args), fields)
    run_jobs()
    return answer


def run_jobs():
    while execution.run_next():
        pass


def find_links(page, part=""):
    """The addresses in the main part of a page that contain `part`, in their order."""
    main = page[page.index("<main") : page.index("</main>")]
    return [address for address in map(unescape, re.findall(r'href="([^"]+)"', main)) if part in address]


def list_samples(page):
    """The samples that a table of a page leads to."""
    return [address.split("/")[2] for address in find_links(page, "/samples/")]


def open_next(browser, address, page):
    """The page that the link to the next page leads to."""
    [rest] = re.findall(r'href="([^"]+)" rel="next"', page)
    return browser.get(address + unescape(rest)).text
