"""The live loop: what is new is read, judged, told and exposed, tick after tick."""
