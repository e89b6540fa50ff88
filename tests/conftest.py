"""What every test gets: seeds, no window, no figure left open, and the folder of the real data."""

import gc
import os
import random
import shutil
import sys
from pathlib import Path

import hypothesis
import numpy as np
import pytest

# An environment variable reaches the worker processes too, and imports nothing.
os.environ["MPLBACKEND"] = "Agg"
# No test cuts the power, and a busy disk lets each file wait.
os.fsync = lambda descriptor: None

hypothesis.settings.register_profile("skmia", deadline=None, derandomize=True)
hypothesis.settings.load_profile("skmia")


def seed_what_has_no_seed():
    """Seed all that draws with ``random_state=None``, and numpy's entropy of the system.

    A test that holds for some seeds only shows under other values of SKMIA_TEST_SEED.
    """
    seed = int(os.environ.get("SKMIA_TEST_SEED", 421))  # 0 is what models in tests take
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    np.random.bit_generator.randbits = random.Random(seed).getrandbits
    if (torch := sys.modules.get("torch")) is not None:
        torch.default_generator.manual_seed(seed)  # torch.manual_seed also keeps a trace, slowly
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(seed)


def pytest_collectstart():
    seed_what_has_no_seed()


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Search for no garbage while modules are imported, and less often than usual in tests.

    The first takes a third of the time of the imports, the second a fiftieth of that of the tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Before fixtures of any scope, so that no test depends on those that ran before."""
    seed_what_has_no_seed()


@pytest.fixture(autouse=True, scope="module")
def leave_what_lasts_out_of_the_search_for_garbage():
    """Modules and results stay, and statsmodels, joblib and a lack of memory search often."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    """Close the figures that a test drew, after its fixtures: one of each test takes longer."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def quick_audits(monkeypatch):
    """Small models in the audits of a test of something else."""
    from quick_audits import permute_less, shrink_models

    shrink_models(monkeypatch)
    permute_less(monkeypatch)


@pytest.fixture
def quick_tables(monkeypatch):
    """Small models in the audits of synthetic tables, of a test of something else."""
    from quick_audits import shrink_models_of_tables

    shrink_models_of_tables(monkeypatch)


@pytest.fixture
def copied_workers():
    """Workers that are copies of this process: new ones import the package for seconds."""
    import joblib

    with joblib.parallel_config("multiprocessing"):
        yield


@pytest.fixture(scope="module")
def browser():
    """A browser without a window; where there is a build without one, that takes half as long."""
    playwright = pytest.importorskip("playwright.sync_api")
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shared_data():
    """Path of the folder with the real data sets: SKMIA_TEST_DATA, or ../shared/data."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SKMIA_TEST_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}; the variable SKMIA_TEST_DATA names their folder")
    return folder
