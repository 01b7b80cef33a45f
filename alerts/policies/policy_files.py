"""Read a policy file, and say in which line what is wrong with it.

Source: YAML 1.1 as PyYAML composes it. We differ from its loader in that a clock such as 22:00 is
text and no number of minutes, that a key stands once, and that nothing is written once and meant
twice (anchors): a policy is read by tired people.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, cast

import orjson
import yaml
from pydantic import ValidationError

from alerts.policies.policies import Policy

_WAY_OUT: Final = "see docs/guides/alert-policy.md for one that works"
_WORDS: Final = {"true": True, "false": False, "yes": True, "no": False, "null": None, "": None}
_PLAIN_TAGS: Final = frozenset({f"tag:yaml.org,2002:{name}" for name in ("bool", "null")})
_INT_TAG: Final = "tag:yaml.org,2002:int"

_Path = tuple[str | int, ...]


class PolicyFileError(ValueError):
    """A file is no policy; the message has a line for each thing that is wrong."""


def read_policy(path: Path) -> Policy:
    """Return the policy of a file.

    Raises:
        PolicyFileError: It cannot be read, or says something that a policy does not.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyFileError(f"{path}: wanted a policy file, found {error}") from error
    return parse_policy(text, str(path))


def parse_policy(text: str, source: str) -> Policy:
    """Return the policy that a text holds.

    Args:
        text: YAML.
        source: What messages call it.

    Raises:
        PolicyFileError: It says something that a policy does not.
    """
    lines: dict[_Path, int] = {}
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        content = None if node is None else _Reader(lines).value(node, ())
    except yaml.MarkedYAMLError as error:
        raise PolicyFileError(_yaml_fault(source, error)) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise PolicyFileError(f"{source}:1: wanted YAML, found {error}; {_WAY_OUT}") from error
    try:
        policy = Policy.model_validate_json(orjson.dumps(content))
    except ValidationError as error:
        wrong = [(_place(item["loc"]), _told(item)) for item in _faults(error)]
        raise PolicyFileError(_message(source, wrong, lines)) from error
    doubts = list(_contradictions(policy))
    if doubts:
        raise PolicyFileError(_message(source, doubts, lines))
    return policy


class _Reader:
    """Turns nodes into values, and remembers in which line each stands."""

    def __init__(self, lines: dict[_Path, int]) -> None:
        self._lines = lines
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, place: _Path) -> object:
        """Return what a node says."""
        self._lines[place] = node.start_mark.line + 1
        if id(node) in self._seen:
            raise _fault("an anchor used twice; write it out", node)
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return dict(self._pairs(node, place))
        if isinstance(node, yaml.SequenceNode):
            parts = cast("list[yaml.Node]", node.value)
            return [self.value(part, (*place, at)) for at, part in enumerate(parts)]
        return _scalar(cast("yaml.ScalarNode", node))

    def _pairs(self, node: yaml.MappingNode, place: _Path) -> Iterator[tuple[str, object]]:
        told: set[str] = set()
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            name = str(key.value)
            if not isinstance(key, yaml.ScalarNode) or name in told:
                raise _fault(f"the key {name!r} twice, or no key at all", key)
            told.add(name)
            yield name, self.value(value, (*place, name))
            # An unknown key is shown where it stands, not where its value begins.
            self._lines[*place, name] = key.start_mark.line + 1


def _scalar(node: yaml.ScalarNode) -> object:
    if node.tag in _PLAIN_TAGS:
        return _WORDS.get(node.value.lower(), node.value)
    is_number = node.tag == _INT_TAG and node.value.isascii() and node.value.isdecimal()
    return int(node.value) if is_number else str(node.value)


def _fault(found: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=found, problem_mark=node.start_mark)


def _yaml_fault(source: str, error: yaml.MarkedYAMLError) -> str:
    line = 1 if error.problem_mark is None else error.problem_mark.line + 1
    return f"{source}:{line}: wanted YAML, found {error.problem}; {_WAY_OUT}"


def _faults(error: ValidationError) -> list[Mapping[str, object]]:
    return cast("list[Mapping[str, object]]", error.errors(include_url=False))


def _place(loc: object) -> _Path:
    return tuple(cast("tuple[str | int, ...]", loc))


def _told(item: Mapping[str, object]) -> str:
    """Return what is wrong, and the way out."""
    if item["type"] == "extra_forbidden":
        return "wanted a field that a policy has, found another; check its spelling"
    if item["type"] == "missing":
        return "wanted this field, found none; add it"
    message = str(item["msg"]).removeprefix("Value error, ")
    return f"{message[:1].lower()}{message[1:]}, found {item['input']!r:.60}"


def _message(source: str, wrong: list[tuple[_Path, str]], lines: Mapping[_Path, int]) -> str:
    told = sorted((_line(place, lines), _dotted(place), text) for place, text in wrong)
    faults = "\n".join(f"{source}:{line}: {place}: {text}" for line, place, text in told)
    return f"{faults}\n{_WAY_OUT}"


def _line(place: _Path, lines: Mapping[_Path, int]) -> int:
    """Return the line of a place, or of the nearest place around it that is there."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def _dotted(place: _Path) -> str:
    return ".".join(map(str, place)) or "the file"


def _contradictions(policy: Policy) -> Iterator[tuple[_Path, str]]:
    """Yield what each part may say and the whole may not."""
    names = [one.name for one in policy.receivers]
    for at, name in enumerate(names):
        if name in names[:at]:
            yield ("receivers", at, "name"), f"the receiver {name!r} stands twice; name another"
    for at, route in enumerate(policy.routes):
        for strange in (one for one in route.receivers if one not in names):
            known = ", ".join(names) or "none"
            yield ("routes", at, "receivers"), f"no receiver {strange!r}; known: {known}"
    for at, work in enumerate(policy.maintenance):
        if work.ends <= work.starts:
            yield ("maintenance", at, "ends"), "wanted an end after the start; swap them"
    yield from _dead_ends(policy)


def _dead_ends(policy: Policy) -> Iterator[tuple[_Path, str]]:
    """Yield routes that nothing reaches, and pages that go nowhere."""
    for at, route in enumerate(policy.routes[:-1]):
        if route.match.is_everything and not route.goes_on:
            yield ("routes", at + 1), "nothing comes here: the route above takes all; move it down"
    pages = any(not one.match.severity or "page" in one.match.severity for one in policy.routes)
    if policy.routes and not pages:
        yield ("routes",), "no route takes a page; add one that ends with whom to wake"
