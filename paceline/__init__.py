"""What slows a training cluster, since when, on what evidence; as a command and as a library.

`from paceline import open_logs, incidents` loads what is asked for and no more, so that the command
line starts as fast as without it; see docs/decisions/0037-a-library-face.md.
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from paceline.library.budgets import budgets
    from paceline.library.evidence import Evidence
    from paceline.library.fleet import checkpoint_interval, failures, goodput, lemons
    from paceline.library.fleet_plots import plot_burn, plot_goodput, plot_lemons
    from paceline.library.incidents import explain, incidents, postmortem, verdicts
    from paceline.library.opening import open_logs, open_prometheus, open_store, simulated
    from paceline.library.pandas_edge import to_pandas
    from paceline.library.plots import plot_ranks, plot_suspect, plot_timeline

__all__ = [
    "Evidence",
    "budgets",
    "checkpoint_interval",
    "explain",
    "failures",
    "goodput",
    "incidents",
    "lemons",
    "open_logs",
    "open_prometheus",
    "open_store",
    "plot_burn",
    "plot_goodput",
    "plot_lemons",
    "plot_ranks",
    "plot_suspect",
    "plot_timeline",
    "postmortem",
    "simulated",
    "to_pandas",
    "verdicts",
]

FACE: Final = MappingProxyType(
    {
        name: f"paceline.library.{module}"
        for module, names in (
            ("evidence", ("Evidence",)),
            ("opening", ("open_logs", "open_store", "open_prometheus", "simulated")),
            ("incidents", ("incidents", "verdicts", "explain", "postmortem")),
            ("fleet", ("lemons", "goodput", "failures", "checkpoint_interval")),
            ("budgets", ("budgets",)),
            ("plots", ("plot_timeline", "plot_ranks", "plot_suspect")),
            ("fleet_plots", ("plot_burn", "plot_lemons", "plot_goodput")),
            ("pandas_edge", ("to_pandas",)),
        )
        for name in names
    }
)
"""Every name that the package gives, and the module that defines it."""


def __getattr__(name: str) -> object:
    """Return what the face calls `name`, loaded now (PEP 562).

    Raises:
        AttributeError: It is no name of the face, nor a module that was loaded.
    """
    if name not in FACE:
        raise AttributeError(
            f"module 'paceline' has no attribute {name!r}; it gives {', '.join(sorted(FACE))}"
        )
    return getattr(import_module(FACE[name]), name)


def __dir__() -> list[str]:
    """Return the names of the face, and of what is loaded."""
    return sorted({*globals(), *FACE})
