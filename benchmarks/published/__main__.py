"""Add the printed values to all kept results."""

import sys
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from published import COLUMNS, annotate  # noqa: E402

for name in COLUMNS:
    path = HERE.parent / "results" / name
    if path.exists():
        annotate(name, pd.read_csv(path, dtype=str, keep_default_na=False)).to_csv(
            path, index=False
        )
