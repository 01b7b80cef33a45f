"""Judge the devices of a store: a task a peer group, and one control of luck over all of them."""

from dataclasses import dataclass

from detectors.device_parts import DeviceFindings, DevicePart, find_in_part, join_device_parts
from detectors.devices import DeviceParams
from paceline.engines.engines import Engine
from paceline.engines.partitions import PeerGroup, StorePlace, peer_groups, read_group
from paceline.progress import Say


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceWork:
    """Judges one peer group, which it reads by itself.

    Attributes:
        place: The store.
        params: The thresholds.
    """

    place: StorePlace
    params: DeviceParams

    def __call__(self, group: PeerGroup) -> DevicePart:
        """Return what is found among a group."""
        return find_in_part(read_group(self.place, group), self.params)


def spread_devices(
    engine: Engine, place: StorePlace, params: DeviceParams, say: Say
) -> DeviceFindings:
    """Return the slow devices of a store, and hosts whose devices slowed together.

    Args:
        engine: Does the work.
        place: The store.
        params: The thresholds.
        say: Told after each peer group: its name, how many are done, how many there are.

    Raises:
        NoStoreError: There is no store.
        LostTaskError: A task was lost again and again with its worker.
    """
    groups, parts = peer_groups(place), list[DevicePart]()
    for part in engine.map(DeviceWork(place=place, params=params), groups):
        parts.append(part)
        say(groups[len(parts) - 1].name, len(parts), len(groups))
    return join_device_parts(parts, params)
