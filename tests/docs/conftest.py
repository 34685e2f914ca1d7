"""Makes the helper module of these tests importable from them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
