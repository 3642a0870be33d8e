"""Pages of HTML as the tests read them: their tags and texts, and what a browser would fetch."""

import re
from html.parser import HTMLParser

FETCHING = {"src", "srcset", "data", "poster", "action", "background"}


class Document(HTMLParser):
    """The tags of a document, and the texts inside them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._inside, []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of each tag of a kind."""
        return [attributes for name, attributes in self.tags if name == tag]

    def only(self, tag: str) -> dict[str, str | None]:
        (found,) = self.all(tag)
        return found

    @property
    def pictures(self) -> list[str | None]:
        """The words of each image, and of each page in a frame."""
        images, frames = self.all("img"), self.all("iframe")
        return [each.get("alt") for each in images] + [each.get("title") for each in frames]

    @property
    def folded(self) -> int:
        """How many answers of predictions are folded in it."""
        return sum(details.get("class") == "answer" for details in self.all("details"))

    @property
    def urls(self) -> list[str]:
        """What a browser would ask for on its own; what is a page in a frame as well."""
        urls = []
        for tag, attributes in self.tags:
            names = FETCHING | {"href"} if tag == "link" else FETCHING
            urls += [attributes[name] or "" for name in attributes.keys() & names]
            urls += re.findall(r"url\(([^)]*)\)", attributes.get("style") or "")
            if page := attributes.get("srcdoc"):
                urls += Document(page).urls
        for text in (*self.texts.get("style", []), *self.texts.get("script", [])):
            urls += re.findall(r"(?:url\(|@import\s)([^)\s;]*)", text)
        return urls
