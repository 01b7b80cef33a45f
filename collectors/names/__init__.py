"""One name for each device and host of a reading, as of the time of a row."""
