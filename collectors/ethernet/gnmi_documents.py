"""Read what gnmic writes of switches: its `event` format and its own JSON.

An event has its keys as tags and one value a path; gnmic's own format has the keys in the path and
a leaf or a whole subtree below it, lists with their names among the fields (as Nexus sends them). A
leaf that is sent on change alone is absent while it is unchanged: absent means nothing. Stamps are
nanoseconds; frames hold microseconds, so the last three digits are cut. Source: openconfig/gnmic
`pkg/formatters`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from collectors.ethernet.gnmi_leaves import LEAVES, samples_of_leaves
from collectors.frames import TIME
from collectors.identity import canonical_host
from collectors.readings import Reading, count_lines, reading_of
from collectors.sniffing import Head, ReadOptions
from collectors.texts.json_documents import (
    Document,
    items_of,
    mapping_of,
    read_documents,
    rejects_of,
    text_of,
)

_EVENT: Final = re.compile(r'"(?:tags|values)"\s*:\s*\{')
_EVENT_PARTS: Final = re.compile(r'"(?:subscription-name|source|interface_name|values)"\s*:')
_UPDATES: Final = re.compile(r'"updates"\s*:\s*\[\s*\{\s*"(?:Path|values)"|"Path"\s*:\s*"')
_MIN_PARTS: Final = 2

_KEY: Final = re.compile(r"([\w.:-]+)\[([\w.:-]+)=((?:\\.|[^\]\\])*)\]")
_KEYED: Final = re.compile(r"\[[^\]]*\]")
_MODULE: Final = re.compile(r"(?:^|(?<=/))[A-Za-z][\w.-]*:")

_OPTICS: Final = re.compile(r"(?i)^transceiver-|[- ](?:transceiver|optics)$")
"""What a component is called beside its port."""

_PORT_KEYS: Final = ("interface_name", "interface_interface-id", "interface_id", "component_name")
_NAMES: Final = ("name", "interface-id", "index", "id")

MAX_PATHS: Final = 65_536
"""Paths and ports whose parts are kept: a stream has few and repeats them all the time."""

MAX_DEPTH: Final = 40
"""No model is deeper; a document that is was made to break readers."""

Keys = dict[str, str]
Leaf = tuple[tuple[str, Keys], str]
Row = tuple[str, str | None, str | None, str | None, str | None, str | None, str, str]


def wants_gnmi(head: Head) -> float:
    """Return how sure it is that a file holds documents of gnmic."""
    text = head.text
    if head.is_binary or not text.lstrip().startswith(("[", "{")):
        return 0.0
    parts = {part.group() for part in _EVENT_PARTS.finditer(text)}
    is_event = _EVENT.search(text) and '"tags"' in text and '"timestamp"' in text
    if (is_event and len(parts) >= _MIN_PARTS) or (_UPDATES.search(text) and '"source"' in text):
        return 0.96
    return 0.0


def read_gnmi(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what documents of gnmic say of ports, queues and optical lanes.

    Args:
        path: The file: arrays of events or objects with updates, one or many.
        source: The name to quote in evidence.
        options: `host` is that of documents that name none.

    Returns:
        Samples; counts of 64 bits are exact. Documents and lines that are none of these, and
        documents without a leaf that is known, are rejects.

    Raises:
        OSError: The file cannot be read.
    """
    documents = read_documents(path.read_bytes())
    leaves = pl.DataFrame(
        [leaf for document in documents for leaf in _leaves(document)],
        schema={**dict.fromkeys(("position", "stamp"), pl.String), **_TEXTS},
        orient="row",
    )
    whole = leaves.with_columns(
        pl.col("position").cast(pl.Int64),
        time=(pl.col("stamp").cast(pl.Int64, strict=False) // 1000).cast(TIME),
        host=canonical_host(pl.col("host")).fill_null(pl.lit(options.host, pl.String)),
    )
    samples, used = samples_of_leaves(whole.select(LEAVES.names()))
    rejects = rejects_of(_lost(documents, set(whole["position"]), set(used)), source)
    lost = int(rejects["count"].sum())
    reading = reading_of(samples=samples.with_columns(source=pl.lit(source)), rejects=rejects)
    return count_lines(reading, sum(document.lines for document in documents) - lost)


_TEXTS: Final = dict.fromkeys(("host", "port", "queue", "channel", "path", "text"), pl.String)


def _lost(
    documents: list[Document], told: set[int], used: set[int]
) -> Iterator[tuple[Document, str]]:
    """Yield the documents of which nothing was read, and why."""
    for document in documents:
        if document.line not in used and not _is_quiet(document.value):
            has_leaves = document.line in told
            yield document, "no leaf that is read" if has_leaves else "no document of gnmic"


def _is_quiet(value: object) -> bool:
    """Return whether a document says on purpose that nothing changed."""
    found = [mapping_of(one) for one in items_of(value)]
    return bool(found) and all(
        "sync-response" in one or (bool(one.get("deletes")) and not one.get("values"))
        for one in found
    )


def _leaves(document: Document) -> Iterator[Row]:
    """Yield the leaves of a document: an event, an object with updates, or a list of them."""
    for item in items_of(document.value):
        one = mapping_of(item)
        stamp = one.get("timestamp")
        if isinstance(one.get("updates"), list):
            host = text_of(one.get("target")) or text_of(one.get("source"))
            found = _of_updates(one)
        else:
            tags = {key: text_of(tag) or "" for key, tag in mapping_of(one.get("tags")).items()}
            host = tags.get("target") or tags.get("source")
            found = (
                leaf
                for path, value in mapping_of(one.get("values")).items()
                for leaf in _below(_split(path, tags), value, 0)
            )
        for leaf in found:
            yield (str(document.line), text_of(stamp), host, *_columns(leaf))


def _columns(leaf: Leaf) -> tuple[str | None, str | None, str | None, str, str]:
    """Return port, queue, channel, path and text of a leaf."""
    (path, keys), text = leaf
    port = next((keys[name] for name in _PORT_KEYS if keys.get(name)), None)
    port = port or next((keys[name] for name in sorted(keys) if _is_port(name)), None)
    channel = keys.get("channel_index") or keys.get("physical-channel_index")
    return _bare(port) if port else None, keys.get("queue_name"), channel, _dashed(path), text


@lru_cache(MAX_PATHS)
def _bare(port: str) -> str:
    return _OPTICS.sub("", port)


@lru_cache(MAX_PATHS)
def _dashed(path: str) -> str:
    return path.strip("/").replace("/", "-").replace("_", "-").lower()


def _is_port(name: str) -> bool:
    return name.endswith(("/interface_name", "interface/name", ":interface_name"))


def _of_updates(one: dict[str, Any]) -> Iterator[Leaf]:
    """Yield the leaves of gnmic's own format: keys in the path, a leaf or a subtree below."""
    prefix = text_of(one.get("prefix")) or ""
    for update in one["updates"]:
        above, keys = _split(f"{prefix}/{text_of(mapping_of(update).get('Path')) or ''}", {})
        for path, value in mapping_of(mapping_of(update).get("values")).items():
            below, more = _split(path, keys)
            whole = below if below.startswith(above) else f"{above}/{below}"
            yield from _below((whole, more), value, 0)


def _split(path: str, keys: Keys) -> tuple[str, Keys]:
    """Return a path without keys and module names, and its keys as `element_key` with others."""
    plain, own = _parsed(path)
    return plain, keys | dict(own)


@lru_cache(MAX_PATHS)
def _parsed(path: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return a path without keys and module names, and its keys as `element_key`."""
    own = tuple(
        (f"{_MODULE.sub('', element)}_{key}", value.replace("\\]", "]"))
        for element, key, value in _KEY.findall(path)
    )
    return _MODULE.sub("", _KEYED.sub("", path)).replace("//", "/").strip("/"), own


def _below(place: tuple[str, Keys], value: object, depth: int) -> Iterator[Leaf]:
    """Yield the leaves in a value; of an item of a list, its own name is a key."""
    path, keys = place
    if depth > MAX_DEPTH:
        return
    fields, items = mapping_of(value), items_of(value)
    if fields:
        for name, one in fields.items():
            yield from _below((f"{path}/{_MODULE.sub('', name)}", keys), one, depth + 1)
    elif isinstance(value, list):
        element = path.rsplit("/", 1)[-1]
        for one in items:
            item = mapping_of(one)
            own = {
                f"{element}_{name}": text for name in _NAMES if (text := text_of(item.get(name)))
            }
            yield from _below((path, keys | own), one if item else None, depth + 1)
    elif (text := text_of(value)) is not None:
        yield place, text
