"""Sloth's windows: those built in, and those of a document of kind AlertWindows.

Source: slok/sloth, examples/windows. A document names the period too, which a spec does not; it is
meant for every spec that is read together with it.
"""

from collections.abc import Sequence
from typing import Final, Literal

from slo.documents import Document, DocumentError, Exact, Part, checked
from slo.periods import read_seconds
from slo.schemes import sloth_windows, window_by_budget
from slo.windows import DAY_SECONDS, BurnWindow, Severity

KIND: Final = "AlertWindows"
DEFAULT_PERIOD_SECONDS: Final = 30 * DAY_SECONDS
"""Sloth's own, where its command line says nothing else."""


class _Window(Part):
    """One pair."""

    error_budget_percent: Exact
    short_window: str
    long_window: str


class _Pairs(Part):
    """The pairs of a severity."""

    quick: _Window
    slow: _Window


class _Spec(Part):
    """The pairs of a period."""

    slo_period: str
    page: _Pairs
    ticket: _Pairs


class AlertWindows(Part):
    """A document of kind AlertWindows."""

    api_version: Literal["sloth.slok.dev/v1"]
    kind: Literal["AlertWindows"]
    spec: _Spec


def read_alert_windows(document: Document) -> AlertWindows:
    """Return the windows of a document.

    Raises:
        DocumentError: An unknown or missing field, or a wrong type.
    """
    return checked(AlertWindows, document.content, document.where)


def default_windows(
    alert_windows: Sequence[AlertWindows], where: str
) -> tuple[int, tuple[BurnWindow, ...]]:
    """Return the period that specs are meant for, in seconds, and its pairs.

    Args:
        alert_windows: Documents that were read beside the spec; none means 30 days.
        where: What messages call the spec.

    Raises:
        DocumentError: More than one period could be meant.
        PeriodError: A length of time cannot be read.
    """
    if not alert_windows:
        return DEFAULT_PERIOD_SECONDS, sloth_windows(DEFAULT_PERIOD_SECONDS, where)
    if len(alert_windows) > 1:
        periods = ", ".join(one.spec.slo_period for one in alert_windows)
        raise DocumentError(
            f"{where}: wanted one document of kind AlertWindows beside it, found those of "
            f"{periods}; read one at a time"
        )
    spec = alert_windows[0].spec
    period_seconds = read_seconds(spec.slo_period, where)
    named: tuple[tuple[Severity, _Window], ...] = (
        ("page", spec.page.quick),
        ("page", spec.page.slow),
        ("ticket", spec.ticket.quick),
        ("ticket", spec.ticket.slow),
    )
    return period_seconds, tuple(
        window_by_budget(
            severity,
            lengths=(read_seconds(one.long_window, where), read_seconds(one.short_window, where)),
            budget_percent=one.error_budget_percent,
            period_seconds=period_seconds,
        )
        for severity, one in named
    )
