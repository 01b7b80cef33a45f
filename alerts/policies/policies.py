"""A policy: who is told of which incident, when, and what is held back.

Source: Alertmanager's routes, inhibition and time intervals, in words of incidents. What wakes
someone is not a policy's to say: a page is a burn that users feel, or a run that stopped.
"""

from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, Field

from alerts.policies.matchers import Matchers, Rule
from alerts.policies.quiet_hours import QuietHours
from alerts.policies.spans import Length
from alerts.policies.traits import Traits
from alerts.storing.records import MaintenanceWindow
from slo.windows import Severity

Name = Annotated[str, Field(min_length=1, max_length=100)]
Place = Literal["run", "host", "rack", "switch", "rank", "victims"]


class ReceiverRule(Rule):
    """Somebody who is told; how to reach them stands in the settings of the service.

    Attributes:
        name: What routes and settings call it.
        repeat: Time after which it is told again of what nobody has acknowledged; null is never.
    """

    name: Name
    repeat: Length | None = None


class Route(Rule):
    """Who is told of some incidents.

    Attributes:
        match: Which incidents.
        receivers: Who is told.
        repeat: Time after which they are told again; null leaves it to the receiver.
        goes_on: Whether the routes below are looked at as well.
    """

    match: Matchers = Matchers()
    receivers: Annotated[tuple[Name, ...], Field(min_length=1)]
    repeat: Length | None = None
    goes_on: Annotated[bool, Field(alias="continue")] = False


class SeverityRule(Rule):
    """Incidents that are less urgent than they seem.

    Attributes:
        match: Which incidents.
        severity: `ticket`, or `none` for those that nobody is told of. There is no `page`.
        why: Why, for those who miss a page.
    """

    match: Matchers
    severity: Literal["ticket", "none"]
    why: Annotated[str, Field(min_length=1)]


class PlannedWork(Rule):
    """A stretch in which somebody works on something.

    Attributes:
        id: Its name.
        match: `run`, `host` or `rack`, each with a name that may hold `*`.
        starts: When it begins, with its zone.
        ends: When it ends, with its zone.
        who: Who answers for it.
        why: What for.
    """

    id: Name
    match: Annotated[dict[Literal["run", "host", "rack"], Name], Field(min_length=1)]
    starts: AwareDatetime
    ends: AwareDatetime
    who: Name
    why: Name

    def window(self) -> MaintenanceWindow:
        """Return it as the database has those that people declare there."""
        return MaintenanceWindow(
            id=self.id,
            matchers={str(name): value for name, value in self.match.items()},
            starts=self.starts,
            ends=self.ends,
            who=self.who,
            why=self.why,
        )


class InhibitionRule(Rule):
    """Incidents that explain others, of which nobody is told while those last.

    Attributes:
        name: What people read.
        source: Which incidents explain.
        target: Which incidents are explained.
        share: What both must have one of; `victims` is that a victim of the source is the host or
            rank of the target.
    """

    name: Name
    source: Matchers
    target: Matchers
    share: Annotated[tuple[Place, ...], Field(min_length=1)]


class DataAge(Rule):
    """When missing data are worth a ticket.

    Attributes:
        max_age: Age of a source's newest data from which it counts as silent.
    """

    max_age: Length


_BELOW: Final = Matchers(level=("rank", "gpu", "nic", "host"))
INHIBITION: Final = (
    InhibitionRule(
        name="a fault of a whole switch explains what hangs on it",
        source=Matchers(switch=("*",), level=("group",)),
        target=_BELOW,
        share=("switch", "victims"),
    ),
    InhibitionRule(
        name="a fault of a link explains its victims",
        source=Matchers(kind=("link_fault", "congestion"), level=("link",)),
        target=_BELOW,
        share=("victims",),
    ),
    InhibitionRule(
        name="a fault of a rack explains its hosts and ranks",
        source=Matchers(level=("rack",)),
        target=_BELOW,
        share=("rack", "victims"),
    ),
)
"""What is explained unless a policy says otherwise."""


class Policy(Rule):
    """Who is told of which incident, when, and what is held back.

    Attributes:
        version: Form of the file.
        receivers: Everybody who can be told.
        routes: Who is told; the first that fits decides.
        severities: Incidents that are less urgent than they seem; the first that fits decides.
        quiet_hours: When tickets wait.
        maintenance: Planned work that is known beforehand.
        inhibition: Which incidents explain others.
        data_age: When missing data are worth a ticket; null is never.
        tell_over: An incident that was over when it was first seen is told of when it ended at most
            so long before.
    """

    version: Literal[1]
    receivers: tuple[ReceiverRule, ...] = ()
    routes: tuple[Route, ...] = ()
    severities: tuple[SeverityRule, ...] = ()
    quiet_hours: tuple[QuietHours, ...] = ()
    maintenance: tuple[PlannedWork, ...] = ()
    inhibition: tuple[InhibitionRule, ...] = INHIBITION
    data_age: DataAge | None = None
    tell_over: Length = Field(default="1h", validate_default=True)

    def severity(self, severity: Severity, traits: Traits) -> Severity | None:
        """Return how urgent an incident is; null when nobody is told of it."""
        rule = next((one for one in self.severities if one.match.fit(traits)), None)
        if rule is None:
            return severity
        return None if rule.severity == "none" else "ticket"

    def routes_of(self, traits: Traits) -> list[Route]:
        """Return the routes that an incident takes."""
        taken: list[Route] = []
        for route in self.routes:
            if route.match.fit(traits):
                taken.append(route)
                if not route.goes_on:
                    break
        return taken


SILENT: Final = Policy(version=1)
"""A policy that tells nobody."""
