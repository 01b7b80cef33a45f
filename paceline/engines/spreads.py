"""What of an analysis is spread over an engine, and over which store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from detectors.devices import DeviceParams
from paceline.burning import BurnReplay
from paceline.engines.engines import Engine
from paceline.engines.partitions import StorePlace
from paceline.engines.spread_burns import spread_burns
from paceline.engines.spread_devices import spread_devices
from paceline.progress import Say
from slo.growth import BurnParams
from slo.objectives import Objective


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """An engine, and the store whose partitions it works on.

    Attributes:
        engine: Does the work.
        place: The store.
    """

    engine: Engine
    place: StorePlace

    def folded(self, params: DeviceParams, say: Say) -> Mapping[str, pl.DataFrame]:
        """Return `VERDICTS` of the detectors that are spread, by their name in `DETECTORS`."""
        found = spread_devices(self.engine, self.place, params, say)
        return {"devices": found.devices, "device hosts": found.hosts}

    def burns(
        self,
        steps: pl.DataFrame,
        objectives: Sequence[Objective],
        scrape_seconds: float,
        params: BurnParams,
    ) -> BurnReplay:
        """Return the replay of objectives; see `paceline.engines.spread_burns`."""
        return spread_burns(
            self.engine, steps, objectives, scrape_seconds=scrape_seconds, params=params
        )
