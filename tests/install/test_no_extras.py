"""The package as it is installed: whole, and usable without any of its extras."""

import json
import subprocess
import sys
import sysconfig
from importlib.metadata import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

import skmia
from skmia._core.optional import import_optional
from skmia.metrics import MembershipRocDisplay

EXTRA_OF = {
    "catboost": "catboost",
    "dask": "dask",
    "distributed": "dask",
    "imblearn": "smote",
    "jinja2": "report",
    "lightgbm": "lightgbm",
    "matplotlib": "plot",
    "onnxruntime": "onnx",
    "opacus": "dp",
    "pyarrow": "arrow",
    "ray": "ray",
    "sdv": "sdv",
    "skops": "skops",
    "skorch": "torch",
    "torch": "torch",
    "transformers": "hf",
    "xgboost": "xgboost",
}

IMPORT_EVERYTHING_PUBLIC = """
import importlib, json, pkgutil, sys
import skmia

def public_modules(package):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if not module.name.rpartition(".")[2].startswith("_"):
            imported = importlib.import_module(module.name)
            yield module.name
            if module.ispkg:
                yield from public_modules(imported)

import pandas

before = set(sys.modules)  # pandas loads pyarrow where it is there
public = list(public_modules(skmia))
print(json.dumps({"public": public, "loaded": sorted(sys.modules.keys() - before)}))
"""


@pytest.fixture(scope="module")
def fresh_interpreter(tmp_path_factory):
    """What a new process has loaded after importing every public module, and the names of these."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERYTHING_PUBLIC],
        cwd=tmp_path_factory.mktemp("elsewhere"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_public_module_can_be_imported(fresh_interpreter):
    assert {"skmia.attacks", "skmia.metrics", "skmia.testing"} <= set(fresh_interpreter["public"])


@pytest.mark.parametrize("package", EXTRA_OF)
def test_importing_skmia_loads_no_extra(package, fresh_interpreter):
    assert package not in fresh_interpreter["loaded"]


@pytest.mark.parametrize("package, extra", EXTRA_OF.items())
def test_missing_extra_is_named_by_the_error(package, extra):
    if find_spec(package):
        pytest.skip(f"{package} is installed")
    with pytest.raises(ImportError, match=rf'pip install "skmia\[{extra}\]"'):
        import_optional(package, extra)


def test_plotting_without_matplotlib_names_the_extra():
    if find_spec("matplotlib"):
        pytest.skip("matplotlib is installed")
    with pytest.raises(ImportError, match=r'pip install "skmia\[plot\]"'):
        MembershipRocDisplay.from_predictions([0, 1] * 50, range(100))


@pytest.mark.parametrize("extra", sorted(set(EXTRA_OF.values())))
def test_extra_is_offered(extra):
    assert extra in metadata("skmia").get_all("Provides-Extra")


def test_every_file_of_the_package_is_installed():
    def files(root):
        return {
            path.relative_to(root)
            for path in root.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }

    source = Path(__file__).parents[2] / "skmia"
    assert files(Path(skmia.__file__).parent) == files(source)


def test_command_line_answers(tmp_path):
    command = Path(sysconfig.get_path("scripts")) / "skmia"
    done = subprocess.run([command, "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "audit" in done.stdout
