"""Text of foreign files and names, as it may be shown on a terminal."""


def printable(text: str) -> str:
    """The text with every character that a terminal would obey, or could not show, as an escape.

    These are control characters, those that turn the direction of writing, and the bytes of file
    names that are not UTF-8.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
