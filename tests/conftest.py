"""How hypothesis runs here, and the fixtures of all tests.

Hypothesis has no deadline, since machines differ, and tries the same examples every time in CI.
"""

import os

from certificates import certificates, mutual_tls
from hypothesis import settings
from object_stores import azure, bucket, gcs, s3

__all__ = ["azure", "bucket", "certificates", "gcs", "mutual_tls", "s3"]

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are named by their argument: packed ones hold the time of packing, and every worker of
    pytest-xdist has to collect the same names."""
    return argname if isinstance(val, bytes) else None
