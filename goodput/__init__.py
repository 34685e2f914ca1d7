"""goodput: where every paid GPU-second went, and why."""

__version__ = "0.1.0"
