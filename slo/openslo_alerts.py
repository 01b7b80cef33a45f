"""Pairs of windows from OpenSLO's alert policies.

Source: OpenSLO v1, AlertPolicy and AlertCondition. A condition knows one window; the short one
beside it is a twelfth of it. Who is notified, and of a recovery, is for Alertmanager's routes to
say: that changes nothing about the objective.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

from slo.documents import DocumentError
from slo.openslo_parts import ConditionSpec, InlineCondition, InlinePolicy, PolicySpec
from slo.periods import read_seconds, read_wait_seconds
from slo.schemes import single_window_lengths, window_by_factor
from slo.windows import BurnWindow, Severity

AnySpec = TypeVar("AnySpec")

_PAGES: Final = frozenset({"page", "critical", "high", "sev1", "sev-1", "p1", "fatal", "emergency"})
"""Words for what wakes someone; whatever else is written waits as a ticket."""


def policy_windows(
    asked: tuple[str | InlinePolicy, ...],
    policies: Mapping[str, PolicySpec],
    conditions: Mapping[str, ConditionSpec],
    *,
    period_seconds: int,
    where: str,
) -> tuple[BurnWindow, ...]:
    """Return the pairs that an objective's policies ask for, in their order.

    Args:
        asked: Policies that stand inside of the objective, or names of them.
        policies: Policies by name.
        conditions: Conditions by name.
        period_seconds: Length of the objective's period.
        where: What messages call the objective.

    Raises:
        DocumentError: A name is nobody's.
        PeriodError: A length cannot be read.
    """
    found = [_policy(one, policies, where) for one in asked]
    return tuple(
        _window(_condition(policy.conditions[0], conditions, where), period_seconds, where)
        for policy in found
        if policy.alert_when_breaching
    )


def _policy(
    asked: str | InlinePolicy, policies: Mapping[str, PolicySpec], where: str
) -> PolicySpec:
    """Return a policy that stands inline or in another document."""
    if isinstance(asked, InlinePolicy) and asked.spec is not None:
        return asked.spec
    name = asked if isinstance(asked, str) else asked.alert_policy_ref
    return _named(name, policies, "AlertPolicy", where)


def _condition(
    asked: InlineCondition, conditions: Mapping[str, ConditionSpec], where: str
) -> ConditionSpec:
    """Return a condition that stands inline or in another document."""
    if asked.spec is not None:
        return asked.spec
    return _named(asked.condition_ref, conditions, "AlertCondition", where)


def _named(name: str | None, known: Mapping[str, AnySpec], kind: str, where: str) -> AnySpec:
    """Return what another document says under a name."""
    if name is not None and name in known:
        return known[name]
    raise DocumentError(
        f"{where}: found no document of kind {kind} named {name!r}; known: {sorted(known)}"
    )


def _window(spec: ConditionSpec, period_seconds: int, where: str) -> BurnWindow:
    """Return the pair of a condition."""
    condition = spec.condition
    severity: Severity = "page" if spec.severity.casefold() in _PAGES else "ticket"
    return window_by_factor(
        severity,
        lengths=single_window_lengths(read_seconds(condition.lookback_window, where)),
        factor=condition.threshold,
        for_seconds=read_wait_seconds(condition.alert_after, where),
        period_seconds=period_seconds,
    )
