"""The batch jobs of a site: which steps, when, and where the results go.

What two clusters must agree on is in `goodput/` and `sql/`; what a second cluster would want
otherwise is here. The scripts use the public API only.
"""
