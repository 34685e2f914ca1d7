"""Benchmarks with a reference run beside each: `make bench` prints one JSON object a line."""
