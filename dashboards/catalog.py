"""The ids of Grafana that our boards may use: a wrong one is shown or ignored without a word.

Source: `getValueFormats()`, `fieldReducers` and `DataTransformerID` of `@grafana/data` 13.2. Units
are the part of Grafana's list that means something for a cluster; a board that needs another one
of Grafana's adds it here.
"""

PANEL_TYPES = frozenset(
    {"bargauge", "heatmap", "row", "stat", "state-timeline", "table", "text", "timeseries"}
)
"""What the recipes build. A new kind of panel comes with a recipe and its rules."""

UNITS = frozenset(
    {
        # numbers and ratios
        *(
            "none",
            "string",
            "short",
            "sci",
            "percent",
            "percentunit",
            "bool",
            "bool_yes_no",
            "dB",
            "dBm",
        ),
        # time and dates
        *("ns", "µs", "ms", "s", "m", "h", "d", "dtdurationms", "dtdurations", "dtdhms"),
        *("dateTimeAsIso", "dateTimeAsIsoNoDateIfToday", "dateTimeFromNow"),
        # data and rates
        *("bytes", "decbytes", "bits", "decbits", "Bps", "binBps", "bps", "binbps", "pps"),
        *("cps", "ops", "rps", "reqps", "iops", "cpm", "opm", "flops", "tflops", "pflops"),
        # machines
        *("celsius", "watt", "kwatt", "joule", "watth", "kwatth", "volt", "amp", "humidity"),
        *("hertz", "rothz", "rotmhz", "rotghz", "rotrpm"),
    }
)
UNIT_PREFIXES = ("suffix:", "prefix:", "si:", "count:", "time:")
"""Units that carry their own text."""

REDUCERS = frozenset(
    {
        *("allIsNull", "allIsZero", "allValues", "changeCount", "count", "countAll", "delta"),
        *("diff", "diffperc", "distinctCount", "first", "firstNotNull", "last", "lastNotNull"),
        *("logmin", "max", "mean", "median", "min", "range", "stdDev", "step", "sum"),
        *("uniqueValues", "variance"),
        *(f"p{percentile}" for percentile in range(1, 100)),
    }
)

TRANSFORMATIONS = frozenset(
    {
        *("calculateField", "concatenate", "configFromData", "convertFieldType", "extractFields"),
        *("fieldLookup", "filterByRefId", "filterByValue", "filterFieldsByName", "formatTime"),
        *("groupBy", "groupingToMatrix", "histogram", "joinByField", "joinByLabels"),
        *("labelsToFields", "limit", "merge", "organize", "partitionByValues", "reduce"),
        *("renameByRegex", "rowsToFields", "seriesToRows", "sortBy", "timeSeriesTable"),
        *("prepareTimeSeries", "transpose"),
    }
)
