"""Documents: from YAML text to parts that are checked field by field.

Sources: YAML 1.1 as PyYAML reads it, which OpenSLO, Sloth and Pyrra all write their specs in. We
differ in that numbers with a point stay decimal and times stay text, since 99.9 is no float and a
time without a zone is no time; and a key that stands twice is refused, where YAML keeps the last.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Annotated, Final, TypeVar, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

WAY_OUT: Final = "see slo/library/training-steps.yml for a document that works"
_LIST_KINDS: Final = ("List", "ServiceLevelObjectiveList", "PrometheusServiceLevelList")
"""Kinds that only hold others, as `kubectl get --output yaml` writes them."""
_MERGE_TAG: Final = "tag:yaml.org,2002:merge"


Exact = Annotated[Decimal, Field(max_digits=50)]
"""A number as it was written; so short that it can be computed with."""


class DocumentError(ValueError):
    """A file is no document that can be read."""


class Part(BaseModel):
    """A part of a document in camel case; a field that is not named here is refused."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, frozen=True)


AnyModel = TypeVar("AnyModel", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of a text.

    Attributes:
        where: Which one it is, for messages.
        content: Its fields; numbers with a point are decimal, times are text.
    """

    where: str
    content: dict[str, object]

    @property
    def version(self) -> object:
        """What it says about its own form: `apiVersion`, or Sloth's `version`; null if nothing."""
        return self.content.get("apiVersion", self.content.get("version"))

    @property
    def kind(self) -> object:
        """Its kind; null for forms that know only one."""
        return self.content.get("kind")


class _Loader(yaml.SafeLoader):
    """Reads decimals as decimals and times as text."""


def _decimal(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> object:
    """Return a number with a point as exactly as it was written."""
    try:
        return Decimal(node.value.replace("_", ""))
    except InvalidOperation:
        return loader.construct_yaml_float(node)


def _text(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    """Return a scalar as the text that it is."""
    del loader
    return str(node.value)


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[object, object]:
    """Return a mapping whose keys each stand once."""
    keys = [
        cast("object", key.value) for key, _ in node.value if cast("str", key.tag) != _MERGE_TAG
    ]
    twice = sorted({str(key) for key in keys if keys.count(key) > 1})
    if twice:
        raise yaml.constructor.ConstructorError(
            None, None, f"the key {twice[0]!r} twice in one mapping", node.start_mark
        )
    loader.flatten_mapping(node)
    return cast("dict[object, object]", loader.construct_mapping(node, deep=True))


_Loader.add_constructor("tag:yaml.org,2002:float", _decimal)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _text)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def split_documents(text: str, source: str) -> list[Document]:
    """Return each document that says something, with its place; lists of them are opened.

    Args:
        text: YAML; every document of it is read.
        source: What messages call the text.

    Raises:
        DocumentError: No YAML, or a document that has no fields.
    """
    parts = load_yaml(text, source)
    found: list[Document] = []
    for number, part in enumerate(parts, start=1):
        found += _opened(part, f"{source}, document {number}")
    return found


def load_yaml(text: str, source: str) -> list[object]:
    """Return the documents of a text as they are, empty ones as null.

    Raises:
        DocumentError: No YAML.
    """
    try:
        return cast("list[object]", list(yaml.load_all(text, Loader=_Loader)))
    except (yaml.YAMLError, RecursionError) as error:
        flat = " ".join(str(error).split())
        raise DocumentError(f"{source}: wanted YAML, found {flat}; {WAY_OUT}") from error


def _opened(part: object, where: str) -> Iterator[Document]:
    """Yield a document, or those that it lists."""
    if part is None:
        return
    if not isinstance(part, dict):
        raise DocumentError(
            f"{where}: wanted a document with fields, found {type(part).__name__!r}; {WAY_OUT}"
        )
    fields = cast("dict[object, object]", part)
    content = {str(key): value for key, value in fields.items()}
    if content.get("kind") not in _LIST_KINDS:
        yield Document(where=where, content=content)
        return
    items = content.get("items")
    if not isinstance(items, list):
        raise DocumentError(f"{where}: wanted a list of items, found {_shown(items)}; {WAY_OUT}")
    for number, item in enumerate(cast("list[object]", items), start=1):
        yield from _opened(item, f"{where}, item {number}")


def checked(model: type[AnyModel], content: object, where: str) -> AnyModel:
    """Return a part of a document, or refuse it with everything that is wrong with it.

    Raises:
        DocumentError: An unknown or missing field, or a wrong type.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}, found {_shown(item['input'])}"
            for item in error.errors()
        )
        raise DocumentError(f"{where}: {wrong}; {WAY_OUT}") from error


def _shown(found: object) -> str:
    """Return what was found, short, and with numbers as they were written."""
    return str(found) if isinstance(found, Decimal) else f"{found!r:.80}"
