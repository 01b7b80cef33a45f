"""The report: one self-contained page with what was found and the plots people look for first."""
