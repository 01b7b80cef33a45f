"""JSON documents of which the last one may be cut: what was whole in it is kept.

Programs that print JSON by hand are cut off with the connection or the process. What stands before
the cut is as good as before.
"""

import re
from typing import Final

import orjson

from collectors.texts.json_documents import Document, read_documents
from collectors.texts.plain_lines import decoded

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]|"', re.DOTALL)

_CLOSERS: Final = {"{": "}", "[": "]"}


def read_cut_documents(data: bytes) -> list[Document]:
    """Return the documents in a file; a last one that was cut holds what was whole in it.

    Args:
        data: The file's bytes.

    Returns:
        As `read_documents` does, but lines from where the cut document begins are one document.
    """
    found = read_documents(data)
    at = next((at for at, one in enumerate(found) if _begins(one)), None)
    if at is None:
        return found
    first = found[at]
    text = "\n".join(decoded(data).split("\n")[first.line - 1 :])
    value = mended(text)
    if value is None:
        return found
    lines = sum(one.lines for one in found[at:])
    return [*found[:at], Document(value=value, line=first.line, lines=lines, text=first.text)]


def _begins(document: Document) -> bool:
    return document.value is None and document.text.lstrip().startswith("{")


def mended(text: str) -> object:
    """Return what is whole in a text that is cut; null if it is broken before its end."""
    safe, open_then = 0, ""
    stack = list[str]()
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in _CLOSERS:
            stack.append(mark)
            safe, open_then = token.end(), "".join(stack)
        elif mark in {"}", "]"}:
            if not stack or _CLOSERS[stack.pop()] != mark:
                return None
            safe, open_then = token.end(), "".join(stack)
        elif mark == ",":
            safe, open_then = token.start(), "".join(stack)
        elif mark == '"':
            break
    closing = "".join(_CLOSERS[one] for one in reversed(open_then))
    try:
        return orjson.loads(text[:safe] + closing) if safe else None
    except orjson.JSONDecodeError:
        return None
