"""Which incidents a rule of a policy is about."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Final, cast, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from alerts.policies.traits import BURN, Traits
from detectors.verdicts import Kind, Level
from slo.windows import Severity

_KINDS: Final = (*get_args(Kind), BURN)


class Rule(BaseModel):
    """A part of a policy; an unknown field is refused, and so is a value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


def _listed(value: object) -> object:
    """Return one word as a list of it."""
    if isinstance(value, str):
        return (value,)
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def _one_of(*known: str) -> Any:  # noqa: ANN401 -- a validator, as pydantic takes it
    def check(words: tuple[str, ...]) -> tuple[str, ...]:
        strange = [word for word in words if word not in known]
        if strange:
            raise ValueError(f"wanted some of {', '.join(known)}, found {', '.join(strange)}")
        return words

    return AfterValidator(check)


Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class Matchers(Rule):
    """Which incidents are meant: those that fit in every field that is given.

    Attributes:
        run: Names of runs; `*` and `?` stand for what may be there, here and in the names below.
        host: Names of hosts.
        rack: Names of racks.
        switch: Names of switches.
        kind: Kinds of findings; `burn` is an incident without a finding.
        level: Levels of findings.
        severity: `page` or `ticket`.
    """

    run: Words = ()
    host: Words = ()
    rack: Words = ()
    switch: Words = ()
    kind: Annotated[Words, _one_of(*_KINDS)] = ()
    level: Annotated[Words, _one_of(*get_args(Level))] = ()
    severity: Annotated[Words, _one_of(*get_args(Severity))] = ()

    @property
    def is_everything(self) -> bool:
        """Whether every incident is meant."""
        return not any(getattr(self, name) for name in type(self).model_fields)

    def fit(self, traits: Traits) -> bool:
        """Return whether an incident is meant; nothing given means every one."""
        return all(
            fits(words, traits.values.get(name, frozenset()))
            for name in type(self).model_fields
            if (words := getattr(self, name))
        )


def fits(patterns: tuple[str, ...], values: frozenset[str]) -> bool:
    """Return whether a value is like one of the patterns."""
    return any(fnmatchcase(value, pattern) for value in values for pattern in patterns)


def fit_all(matchers: Mapping[str, str], traits: Traits) -> bool:
    """Return whether an incident has each name with a value like the one asked for.

    No matcher at all fits nothing: a window of maintenance over everything is a mistake.
    """
    return bool(matchers) and all(
        fits((pattern,), traits.values.get(name, frozenset())) for name, pattern in matchers.items()
    )
