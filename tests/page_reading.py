"""Reading what was written: pages whose elements, identifiers and links are in order."""

from html.parser import HTMLParser

from commbounds.figures.prose import prose

VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}


class Checked(HTMLParser):
    """Reads a page and notes what is wrong with it."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.faults, self.text, self.tags = [], [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if len(attributes) != len(attrs):
            self.faults.append(f"{tag} repeats an attribute")
        if "id" in attributes:
            self.ids.append(attributes["id"])
        for name in ("href", "src", "xlink:href"):
            if name in attributes:
                self.links.append(attributes[name])
        self.tags.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing, line {self.getpos()[0]}")

    def handle_data(self, data):
        self.text.append(data)


def parsed(page):
    checked = Checked()
    checked.feed(page)
    checked.close()
    assert not checked.faults
    assert not checked.open
    return checked


def shown(words):
    """What a page shows of `words`, without markup."""
    return "".join(parsed(prose(words)).text)
