"""Load pickles that hold plain data, and refuse all others: nothing in them is ever called.

A pickle is a program. This one machine knows only the instructions that build dicts, lists, tuples,
texts and numbers, so there is no way to name a class or a function. Source: the instructions of a
genuine flight recorder dump (formats of NCCL and PyTorch-distributed logs, section 10.2) and those
that newer protocols write for the same data.
"""

import pickletools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class PickleBudget:
    """How much a pickle may cost.

    Attributes:
        max_bytes: Length of the file.
        max_operations: Instructions; a dump of 2000 entries with stacks has under a million.
        max_number_bits: Width of a number; more than any counter or nanosecond stamp has.
        max_remembered: Values that it may refer to again.
        max_depth: Containers inside containers; a dump has six.
    """

    max_bytes: int = 256 * 2**20
    max_operations: int = 20_000_000
    max_number_bits: int = 128
    max_remembered: int = 10_000_000
    max_depth: int = 64


DEFAULT_BUDGET: Final = PickleBudget()


class UnsafePickleError(ValueError):
    """A pickle asks for more than plain data; the message names the instruction and its place."""


class BrokenPickleError(ValueError):
    """A pickle ends early or contradicts itself."""


class _Machine:
    """The stack, marks and memo of a pickle being read, and how deep its containers are.

    Depths are kept by identity: a container lives as long as the machine may meet it again, since
    all of them are kept.
    """

    def __init__(self, budget: PickleBudget) -> None:
        self.budget = budget
        self.stack: list[object] = []
        self.marks: list[int] = []
        self.memo: dict[object, object] = {}
        self.depths: dict[int, int] = {}
        self.kept: list[object] = []

    def push(self, value: object) -> None:
        """Put a value on the stack."""
        self.stack.append(value)

    def push_container(self, value: object, inside: Iterable[object] = ()) -> None:
        """Put a container on the stack."""
        self.kept.append(value)
        self.deepen(value, inside)
        self.stack.append(value)

    def deepen(self, container: object, inside: Iterable[object]) -> None:
        """Note how deep a container is now that it holds some values.

        Raises:
            UnsafePickleError: It is deeper than the budget.
        """
        below = max((self.depths.get(id(one), 0) for one in inside), default=0)
        depth = max(self.depths.get(id(container), 1), below + 1)
        if depth > self.budget.max_depth:
            raise UnsafePickleError(
                f"wanted at most {self.budget.max_depth} containers in each other; found more"
            )
        self.depths[id(container)] = depth

    def remember(self, key: object) -> None:
        """Keep the value on top to be met again.

        Raises:
            UnsafePickleError: So many are kept already.
        """
        if len(self.memo) >= self.budget.max_remembered:
            raise UnsafePickleError(
                f"wanted at most {self.budget.max_remembered} remembered values; found more"
            )
        self.memo[key] = self.stack[-1]

    def above_mark(self) -> list[object]:
        """Return what lies above the last mark, off the stack."""
        at = self.marks.pop()
        items = self.stack[at:]
        del self.stack[at:]
        return items

    def take(self, count: int) -> list[object]:
        """Return the top values, off the stack."""
        items = self.stack[-count:]
        if len(items) < count:
            raise IndexError
        del self.stack[-count:]
        return items

    def extend(self, items: list[object]) -> None:
        """Put items into the list on top."""
        top = self.stack[-1]
        if not isinstance(top, list):
            raise TypeError
        self.deepen(cast("object", top), items)
        cast("list[object]", top).extend(items)

    def set_items(self, items: list[object]) -> None:
        """Put keys and values into the dict on top; keys are texts or numbers, none hashes deep."""
        top = self.stack[-1]
        if not isinstance(top, dict) or any(type(key) not in {str, int} for key in items[::2]):
            raise TypeError
        self.deepen(cast("object", top), items[1::2])
        cast("dict[object, object]", top).update(zip(items[::2], items[1::2], strict=True))


_Step = Callable[[_Machine, object], None]


def _pushing(value: object) -> _Step:
    return lambda machine, _value: machine.push(value)


def _push_tuple(machine: _Machine, items: list[object]) -> None:
    machine.push_container(tuple(items), items)


_CONSTANTS: Final[Mapping[str, object]] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}

_PUSHED: Final = (
    "BININT",
    "BININT1",
    "BININT2",
    "LONG1",
    "BINFLOAT",
    "BINUNICODE",
    "SHORT_BINUNICODE",
    "BINUNICODE8",
)

_STEPS: Final[Mapping[str, _Step]] = {
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda _machine, _value: None),
    **dict.fromkeys(_PUSHED, _Machine.push),
    **{name: _pushing(value) for name, value in _CONSTANTS.items()},
    "EMPTY_DICT": lambda machine, _value: machine.push_container({}),
    "EMPTY_LIST": lambda machine, _value: machine.push_container([]),
    "EMPTY_TUPLE": lambda machine, _value: machine.push(()),
    "MARK": lambda machine, _value: machine.marks.append(len(machine.stack)),
    "TUPLE": lambda machine, _value: _push_tuple(machine, machine.above_mark()),
    "TUPLE1": lambda machine, _value: _push_tuple(machine, machine.take(1)),
    "TUPLE2": lambda machine, _value: _push_tuple(machine, machine.take(2)),
    "TUPLE3": lambda machine, _value: _push_tuple(machine, machine.take(3)),
    "APPEND": lambda machine, _value: machine.extend(machine.take(1)),
    "APPENDS": lambda machine, _value: machine.extend(machine.above_mark()),
    "SETITEM": lambda machine, _value: machine.set_items(machine.take(2)),
    "SETITEMS": lambda machine, _value: machine.set_items(machine.above_mark()),
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), _Machine.remember),
    "MEMOIZE": lambda machine, _value: machine.remember(len(machine.memo)),
    **dict.fromkeys(
        ("BINGET", "LONG_BINGET"), lambda machine, key: machine.push(machine.memo[key])
    ),
}
"""All that a pickle may ask for."""


def load_plain_pickle(data: bytes, budget: PickleBudget = DEFAULT_BUDGET) -> object:
    """Return the dicts, lists, tuples, texts and numbers in a pickle.

    Args:
        data: The pickle's bytes; not to be trusted.
        budget: What it may cost.

    Raises:
        UnsafePickleError: It costs more than the budget, or asks for anything that is not plain
            data.
        BrokenPickleError: It ends early or contradicts itself.
    """
    if len(data) > budget.max_bytes:
        raise UnsafePickleError(f"wanted at most {budget.max_bytes} bytes, found {len(data)}")
    machine = _Machine(budget)
    try:
        for count, (operation, value, at) in enumerate(pickletools.genops(data)):
            _check(operation.name, at)
            _check_cost(value, count, budget)
            _STEPS[operation.name](machine, value)
        (whole,) = machine.stack
    except UnsafePickleError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
        raise BrokenPickleError(f"wanted a whole pickle, found {error!r}; copy it anew") from error
    return whole


def _check(name: str, at: int | None) -> None:
    """Refuse an instruction that is not plain."""
    if name not in _STEPS:
        raise UnsafePickleError(
            f"wanted plain data, found instruction {name} at byte {at}; do not load this file"
        )


def _check_cost(value: object, count: int, budget: PickleBudget) -> None:
    """Refuse an instruction too many, and a number too wide."""
    if count >= budget.max_operations:
        raise UnsafePickleError(f"wanted at most {budget.max_operations} instructions; found more")
    if isinstance(value, int) and value.bit_length() > budget.max_number_bits:
        raise UnsafePickleError(f"wanted counters, found a number of {value.bit_length()} bits")
