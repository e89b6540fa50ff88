"""What every test gets: no window, no figure left open, and the folder of the real data sets."""

import gc
import os
import sys
from pathlib import Path

import hypothesis
import pytest

# An environment variable reaches the worker processes too, and imports nothing.
os.environ["MPLBACKEND"] = "Agg"

hypothesis.settings.register_profile("skmia", deadline=None, derandomize=True)
hypothesis.settings.load_profile("skmia")


@pytest.fixture(autouse=True, scope="module")
def leave_what_lasts_out_of_the_search_for_garbage():
    """Modules and results stay, and statsmodels, joblib and a lack of memory search often."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def close_figures():
    """Close the figures that a test drew."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def shared_data():
    """Path of the folder with the real data sets: SKMIA_TEST_DATA, or ../shared/data."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SKMIA_TEST_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}; the variable SKMIA_TEST_DATA names their folder")
    return folder
