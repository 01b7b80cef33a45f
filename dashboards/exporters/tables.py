"""What an exporter calls its series, from which version on, and how a query asks for them.

A board asks for a key of ours, `sm_clock`, and gets the name that the chosen version of the source
has. Renames are rows of a table, so that a new version is a new row and no board changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

CLUSTER_MATCHER = 'cluster="$cluster"'
RATE_WINDOW = "$__rate_interval"
WHOLE_RANGE = "$__range"
AT_END = " @ end()"


class UnknownVersionError(ValueError):
    """A version was chosen that the table of an exporter does not have."""


class UnknownSeriesError(KeyError):
    """A board asks an exporter for a key that its table does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """The table of one exporter.

    Attributes:
        name: What people choose a version of.
        versions: From the oldest to the newest; a name holds from its version on.
        default: The version that the committed boards are built for.
        labels: Its label by ours and by the version from which it holds.
        further: Labels of its series that we do not rename.
        series: Its names by our key and by the version from which they hold.
    """

    name: str
    versions: tuple[str, ...]
    default: str
    labels: Mapping[str, Mapping[str, str]]
    further: tuple[str, ...]
    series: Mapping[str, Mapping[str, str]]

    def known_names(self) -> frozenset[str]:
        """Return every name that any version has."""
        return frozenset(name for names in self.series.values() for name in names.values())

    def known_labels(self) -> frozenset[str]:
        """Return every label that any version has."""
        renamed = {label for labels in self.labels.values() for label in labels.values()}
        return frozenset({"cluster", *self.further, *renamed})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One version of an exporter, as queries ask it.

    Attributes:
        exporter: Its table.
        version: One of the table's.
    """

    exporter: Exporter
    version: str

    def __post_init__(self) -> None:
        """Refuse a version that the table does not have."""
        if self.version not in self.exporter.versions:
            known = ", ".join(self.exporter.versions)
            raise UnknownVersionError(
                f"no version {self.version!r} of {self.exporter.name}; known: {known}; "
                "choose the newest that is not newer than yours"
            )

    def name_of(self, key: str) -> str:
        """Return the name of a series in this version.

        Raises:
            UnknownSeriesError: The table does not have the key, or this version not yet.
        """
        return self._newest(self.exporter.series.get(key, {}), key)

    def select(self, key: str, **chosen: str) -> str:
        """Return the selector of a series in the chosen cluster.

        Args:
            key: Our word for it.
            chosen: Pattern by label of ours, such as `node="$node"`.
        """
        matchers = [f'{self._label(label)}=~"{value}"' for label, value in chosen.items()]
        return f"{self.name_of(key)}{{{', '.join([CLUSTER_MATCHER, *matchers])}}}"

    def value(self, key: str, labels: str, at: str = "", **chosen: str) -> str:
        """Return the query of the highest value of a series for each of some labels.

        Args:
            key: Our word for it.
            labels: Ours, as in `node, gpu`.
            at: ` @ end()`, where a query picks once for the whole range.
            chosen: As in `select`.
        """
        return self.by("max", labels, f"{self.select(key, **chosen)}{at}")

    def rate(self, key: str, labels: str, at: str = "", **chosen: str) -> str:
        """Return the query of a counter's growth a second; arguments as in `value`."""
        return self.by("sum", labels, f"rate({self.select(key, **chosen)}[{RATE_WINDOW}]{at})")

    def increase(self, key: str, labels: str, at: str = "", **chosen: str) -> str:
        """Return the query of a counter's growth from point to point; arguments as in `value`."""
        grown = f"increase({self.select(key, **chosen)}[{RATE_WINDOW}]{at})"
        return self.by("sum", labels, grown)

    def total(self, key: str, labels: str, **chosen: str) -> str:
        """Return the query of a counter's growth over the whole range."""
        return self.by("sum", labels, f"increase({self.select(key, **chosen)}[{WHOLE_RANGE}])")

    def _label(self, ours: str) -> str:
        names = self.exporter.labels.get(ours)
        return self._newest(names, ours) if names else ours

    def worst(self, count: int, key: str, labels: str, function: str = "", **chosen: str) -> str:
        """Return the query over the range of the series that are largest at its end.

        They are picked before they get our labels, which is dear for thousands of series.

        Args:
            count: How many; below zero the smallest ones.
            key: Our word for it.
            labels: Ours, which tell the series apart.
            function: `rate` or `increase` of a counter; empty for values.
            chosen: As in `select`.
        """
        selector = self.select(key, **chosen)
        shown, at_end = (
            f"{function}({selector}[{RATE_WINDOW}]{at})" if function else f"{selector}{at}"
            for at in ("", AT_END)
        )
        pick = "topk" if count > 0 else "bottomk"
        picked = f"{shown} and on ({self.theirs(labels)}) {pick}({abs(count)}, {at_end})"
        return self.by("sum" if function else "max", labels, picked)

    def theirs(self, labels: str) -> str:
        """Return labels of ours as the exporter spells them."""
        return ", ".join(self._label(ours) for ours in labels.split(", "))

    def by(self, operator: str, labels: str, query: str) -> str:
        """Return the aggregation of a query of this source over labels of ours."""
        # A join of one label is a copy; label_replace would need `$1`, which Grafana fills in.
        for ours in labels.split(", "):
            theirs = self._label(ours)
            if theirs != ours:
                query = f'label_join({query}, "{ours}", "", "{theirs}")'
        return f"{operator} by ({labels}) ({query})"

    def _newest(self, names: Mapping[str, str], key: str) -> str:
        until = self.exporter.versions.index(self.version) + 1
        found = [names[version] for version in self.exporter.versions[:until] if version in names]
        if not found:
            known = ", ".join(sorted(self.exporter.series))
            raise UnknownSeriesError(
                f"{self.exporter.name} {self.version} has no {key!r}; known keys: {known}"
            )
        return found[-1]
