"""`python -m benchmarks` (`make bench`): the yardsticks that exist, one after the other."""

import runpy

SCRIPTS = ("benchmarks.detectors_speed",)
"""Quick enough to run together; `benchmarks.scenarios` takes half an hour and is run by itself."""

for script in SCRIPTS:
    print(f"== {script}", flush=True)
    runpy.run_module(script, run_name="__main__")
