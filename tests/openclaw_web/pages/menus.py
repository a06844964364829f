"""Reads the menus of a page: the rail, the tabs, the related pages, the gear and the chooser of agents."""

import re
from html import unescape
from typing import NamedTuple

RAIL = re.compile(r'<nav class="rail[ "].*?</nav>', re.DOTALL)
BAR = re.compile(r'<nav class="places".*?</nav>', re.DOTALL)
RELATED = re.compile(r'<nav class="related related--tab".*?</nav>', re.DOTALL)
CHOOSER = re.compile(r'<details class="menu chooser".*?</details>', re.DOTALL)
LINK = re.compile(r'<a href="([^"]*)"[^>]*?( aria-current="(\w+)")?>(.*?)</a>', re.DOTALL)
TAG = re.compile(r"<[^>]+>")


class MenuLink(NamedTuple):
    """A link of a menu with its `aria-current`, empty where it has none."""

    label: str
    address: str
    current: str


class Menus(NamedTuple):
    """The links of each menu of a page, and how many bars of tabs the page has."""

    rooms: list[MenuLink]
    tabs: list[MenuLink]
    gear: list[MenuLink]
    related: list[MenuLink]
    agents: list[MenuLink]
    bars: int


def read_links(text):
    """The links of a piece of a page."""
    return [
        MenuLink(" ".join(unescape(TAG.sub("", inner)).split()), unescape(href), current)
        for href, _attribute, current, inner in LINK.findall(text)
    ]


def read_menus(text):
    """The menus of a page."""
    rail, bar, related, chooser = (
        match[0] if (match := pattern.search(text)) else "" for pattern in (RAIL, BAR, RELATED, CHOOSER)
    )
    rows = re.findall(r"<li( class=\"places__\w+\")?>(.*?)</li>", bar, re.DOTALL)
    tabs, gear = (
        [link for kind, row in rows if kind == f' class="{name}"' * bool(name) for link in read_links(row)]
        for name in ("", "places__gear")
    )
    rail_links = read_links(rail[rail.find("<ul") :])
    return Menus(rail_links, tabs, gear, read_links(related), read_links(chooser), text.count('class="tabs"'))


def find_current(links):
    """The labels of the links that are current."""
    return [link.label for link in links if link.current]
