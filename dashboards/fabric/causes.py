"""The lower panels of the fabric board: what each layer of a link says."""

from typing import Final

from dashboards.exporters.choices import Sources
from dashboards.fabric import queries as ask
from dashboards.fabric.panels import COUNT, PORT_NAME
from dashboards.fields import Field
from dashboards.panels import Plan
from dashboards.plans import over, plan_events, plan_lines
from dashboards.thresholds import MIN_MUCH_PAUSED_SHARE

CARD_NAME: Final = "{{node}} {{device}}"
MODULE_NAME: Final = "{{switch}} {{module}}"
LANE_NAME: Final = f"{MODULE_NAME} lane {{{{lane}}}}"
_PACKETS: Final = Field(unit="suffix:/s", decimals=1, min_value=0)
_SHARE: Final = Field(unit="percentunit", decimals=1, min_value=0)


def build_why(sources: Sources) -> tuple[Plan, ...]:
    """Return the layers of a link, from the light up to RDMA."""
    return (*_light(sources), *_pauses(sources), *_traffic(sources))


def _light(sources: Sources) -> tuple[Plan, ...]:
    return (
        plan_events(
            "Error correction",
            8,
            "Blocks corrected and given up, of the worst ports. Corrected ones are usual, "
            "given-up ones are lost packets.",
            [
                over(ask.grown(sources, "fec_corrected"), f"corrected {PORT_NAME}"),
                over(ask.grown(sources, "fec_uncorrectable"), f"given up {PORT_NAME}"),
            ],
            COUNT,
        ),
        plan_lines(
            "Bit errors before correction",
            8,
            "Ratio of the worst modules. One that rises over days ends in given-up blocks.",
            [over(ask.error_ratio(sources), MODULE_NAME)],
            Field(unit="sci", decimals=1),
        ),
        plan_lines(
            "Module temperature",
            8,
            "The hottest modules. A hot one beside cool ones is failing or has no air.",
            [over(ask.hottest(sources), MODULE_NAME)],
            Field(unit="celsius", decimals=0),
        ),
        plan_lines(
            "Light received",
            12,
            "The darkest lanes and the limit from which vendors warn. "
            "One dark lane of four: clean the connector.",
            [
                over(ask.darkest(sources, "rx_power"), LANE_NAME),
                over(ask.light_limit(sources), "warning limit"),
            ],
            Field(unit="dBm", decimals=1),
        ),
        plan_lines(
            "Light sent",
            12,
            "The darkest lasers. Light sent is well and light received is low: the fibre.",
            [over(ask.darkest(sources, "tx_power"), LANE_NAME)],
            Field(unit="dBm", decimals=1),
        ),
    )


def _pauses(sources: Sources) -> tuple[Plan, ...]:
    return (
        plan_lines(
            "Pause frames",
            8,
            "Received ones tell a card to stop, sent ones come from a host that cannot keep up.",
            [
                over(ask.card_rates(sources, "pauses_received"), f"received {CARD_NAME}"),
                over(ask.card_rates(sources, "pauses_sent"), f"sent {CARD_NAME}"),
            ],
            _PACKETS,
        ),
        plan_lines(
            "Time in pause by card",
            8,
            "Share of time, received and sent. Frames are many and this is low: short pauses.",
            [
                over(ask.paused_time(sources, "pause_received_us"), f"received {CARD_NAME}"),
                over(ask.paused_time(sources, "pause_sent_us"), f"sent {CARD_NAME}"),
            ],
            Field(
                unit="percentunit",
                decimals=1,
                min_value=0,
                steps=(("orange", MIN_MUCH_PAUSED_SHARE),),
            ),
        ),
        plan_lines(
            "Congestion notices",
            8,
            "Notices sent and handled, and packets that arrived marked. "
            "Sent without handled: a sender ignores them.",
            [
                over(ask.card_rates(sources, "cnps_sent"), f"sent {CARD_NAME}"),
                over(ask.card_rates(sources, "cnps_handled"), f"handled {CARD_NAME}"),
                over(ask.card_rates(sources, "ecn_marked"), f"marked {CARD_NAME}"),
            ],
            _PACKETS,
        ),
        plan_lines(
            "Packets marked by switches",
            8,
            "The ports that mark most. A port that marks and drops has its limits too high.",
            [over(ask.marks(sources), PORT_NAME)],
            _PACKETS,
        ),
        plan_lines(
            "Drops by queue",
            8,
            "The queues that drop most. A drop in a lossless one is a fault of its settings.",
            [over(ask.discards(sources), f"{PORT_NAME} {{{{queue}}}}")],
            _PACKETS,
        ),
        plan_events(
            "What RDMA lost",
            8,
            "Packets out of order, sent again or never answered, by the cards with most. "
            "They follow a bad link or a drop.",
            [
                over(ask.card_counts(sources, "out_of_sequence"), f"out of order {CARD_NAME}"),
                over(ask.card_counts(sources, "retransmits"), f"sent again {CARD_NAME}"),
                over(ask.card_counts(sources, "ack_timeouts"), f"no answer {CARD_NAME}"),
            ],
            COUNT,
        ),
    )


def _traffic(sources: Sources) -> tuple[Plan, ...]:
    return (
        plan_lines(
            "Traffic over line rate",
            12,
            "The fullest ports, both ways. A full one beside empty ones is a path that all chose.",
            [
                over(ask.line_share(sources, "bytes_in"), f"in {PORT_NAME}"),
                over(ask.line_share(sources, "bytes_out"), f"out {PORT_NAME}"),
            ],
            _SHARE,
        ),
        plan_lines(
            "Balance over the ports of a switch",
            12,
            "Fullest port over the mean; 1 is even. Choose the uplinks above to judge them alone.",
            [over(ask.imbalance(sources), "{{switch}}")],
            Field(unit="suffix:x", decimals=2),
        ),
    )
