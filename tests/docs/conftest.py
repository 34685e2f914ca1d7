"""Makes the helper modules importable: the one beside these tests, and the project's own."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
