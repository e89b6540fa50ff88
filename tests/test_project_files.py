"""Workflows, hooks and metadata name what there is: make targets, Python versions, the version."""

import ast
import configparser
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import skmia

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CLASSIFIERS = {
    found[1]
    for line in PROJECT["project"]["classifiers"]
    if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
}


def read(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def iter_jobs():
    for path in WORKFLOWS:
        for name, job in read(path)["jobs"].items():
            yield pytest.param(job, id=f"{path.stem}-{name}")


def list_combinations(job):
    """The values of each run of a job: its matrix multiplied out, and what is included beside."""
    matrix = dict(job.get("strategy", {}).get("matrix", {}))
    included = matrix.pop("include", [])
    runs = [{}]
    for name, values in matrix.items():
        runs = [{**run, name: value} for run in runs for value in values]
    return runs + included


def fill(text, run):
    """A text of a job with the values of one of its runs."""
    return re.sub(r"\$\{\{ matrix\.([a-z-]+) \}\}", lambda found: str(run[found[1]]), text)


def iter_pythons(job):
    """The Python of each run of a job, and whether that run may fail."""
    for run in list_combinations(job):
        for step in job["steps"]:
            if "python-version" in step.get("with", {}):
                version = step["with"]["python-version"]
                # A number would lose the zero of 3.10.
                assert isinstance(version, str)
                yield fill(version, run), bool(run.get("may-fail"))


# Workflows


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_may_only_read_and_runs_once_at_a_time(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"] == path.stem + "-${{ github.ref }}"


@pytest.mark.parametrize("job", iter_jobs())
def test_job_runs_make_targets_that_exist(job):
    commands = [
        fill(step["run"], run)
        for run in list_combinations(job)
        for step in job["steps"]
        if "run" in step
    ]
    assert commands
    for command in commands:
        make, target = command.split()[:2]
        assert make == "make" and target in TARGETS, command


@pytest.mark.parametrize("job", iter_jobs())
def test_job_ends_and_pins_its_actions(job):
    assert 0 < job["timeout-minutes"] <= 360
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", action) for action in used)


def test_the_pythons_that_must_pass_are_those_of_the_classifiers():
    pythons = [one for job in iter_jobs() for one in iter_pythons(job.values[0])]
    assert {version for version, may_fail in pythons if not may_fail} == CLASSIFIERS
    oldest = min(CLASSIFIERS, key=lambda version: int(version.split(".")[1]))
    assert PROJECT["project"]["requires-python"] == f">={oldest}"


def test_slow_tests_run_in_exactly_one_workflow():
    runs = [step.get("run", "") for job in iter_jobs() for step in job.values[0]["steps"]]
    assert [runs.count(target) for target in ("make test", "make test-slow")] == [1, 1]


# Make and the hooks


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")
@pytest.mark.parametrize("system, folder", [("Windows_NT", "Scripts"), ("", "bin")])
def test_make_finds_the_programs_of_an_environment(system, folder):
    here = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    shown = subprocess.run(
        ["make", "--dry-run", "--always-make", f"OS={system}", "PYTHON=python", "lint", "test"],
        cwd=ROOT,
        env=here,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert set(re.findall(r"\.venv/(\w+)/\w", shown)) == {folder}


def test_every_target_without_a_file_is_phony():
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split()
    assert set(phony) == TARGETS


def test_hooks_are_make_targets_whose_versions_are_pinned_in_one_place():
    repositories = read(".pre-commit-config.yaml")["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    for hook in repositories[0]["hooks"]:
        make, target = hook["entry"].split()
        assert make == "make" and target in TARGETS
        assert "additional_dependencies" not in hook
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    for requirement in PROJECT["project"]["optional-dependencies"]["lint"]:
        name = re.match(r"[\w-]+", requirement)[0]
        assert re.search(rf"^{name}==", pinned, re.MULTILINE)
    assert re.search(r"-c constraints\.txt .*\[lint\]", MAKEFILE)


def test_a_tool_has_its_settings_in_one_file():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    in_setup = {re.split("[:]", name.removeprefix("tool:"))[0] for name in parser.sections()}
    assert not in_setup & set(PROJECT["tool"])
    others = ("pytest.ini", "tox.ini", "ruff.toml", ".ruff.toml", ".coveragerc", ".codespellrc")
    others += ("mypy.ini", ".mypy.ini")
    assert [name for name in others if (ROOT / name).exists()] == []


def test_types_are_part_of_the_package():
    assert (ROOT / "skmia" / "py.typed").exists()
    assert PROJECT["tool"]["setuptools"]["package-data"]["skmia"] == ["py.typed"]


# What is told about the project


def test_citation_is_of_this_version():
    citation, project = read("CITATION.cff"), PROJECT["project"]
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == skmia.__version__
    assert (citation["title"], citation["abstract"]) == (project["name"], project["description"])
    assert (citation["license"], citation["authors"]) == (project["license"], project["authors"])
    assert citation["keywords"] == project["keywords"]


def test_changelog_has_this_version():
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(skmia.__version__)}\] - ", log, re.MULTILINE)


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md")),
    ids=lambda path: path.stem,
)
def test_issue_template_has_a_name(path):
    _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
    assert {"name", "about"} <= set(yaml.safe_load(head))
    assert body.strip()


# The tests of what has changed


@pytest.fixture
def some_modules(monkeypatch):
    """The house without most of its rooms, whose syntax trees take seconds."""
    import nearest
    import test_house

    root = ROOT / "skmia"
    paths = {
        "skmia": root / "__init__.py",
        "skmia.attacks": root / "attacks" / "__init__.py",
        "skmia.attacks._rmia": root / "attacks" / "_rmia.py",
        "skmia.attacks._threshold": root / "attacks" / "_threshold.py",
        "skmia.inspection._inspect": root / "inspection" / "_inspect.py",
        "skmia.report": root / "report" / "__init__.py",
        "skmia.report._case": root / "report" / "_case.py",
        "skmia.report._audit": root / "report" / "_audit.py",
        "skmia.testing": root / "testing" / "__init__.py",
        "skmia.testing._check_attack": root / "testing" / "_check_attack.py",
        "skmia.testing._attack_checks": root / "testing" / "_attack_checks" / "__init__.py",
        "skmia.testing._attack_checks._tools": root / "testing" / "_attack_checks" / "_tools.py",
    }
    trees = {name: (ast.parse(path.read_text()), path) for name, path in paths.items()}
    read = nearest.read_rooms, nearest.read_users, nearest.read_imports_of_tests
    for module in (nearest, test_house):
        monkeypatch.setattr(module, "read_modules", lambda: trees)
    for function in read:
        function.cache_clear()
    yield nearest
    for function in read:
        function.cache_clear()


def test_the_tests_of_a_change_are_those_that_its_imports_lead_to_the_nearest_first(some_modules):
    files = some_modules.choose_files(["skmia/attacks/_rmia.py"])
    example, *tables = files[: files.index("tests/attacks/test_rmia.py")]
    assert example == "skmia/attacks/_rmia.py" and tables
    assert all(name.startswith("tests/attacks/") and "_by_hand" in name for name in tables)
    assert files[-1] == "tests/test_house.py"
    places = {name: files.index(name) for name in files}
    # It imports the attack; this one the audit, which imports the attack.
    assert places["tests/attacks/test_labels_alone.py"] < places["tests/report/test_audit.py"]
    assert "tests/inspection/test_inspect.py" not in places
    page, test = "doc/user_guide/attacks.md", "tests/core/test_levels.py"
    assert some_modules.choose_files([test, page, "LICENSE"]) == [
        test,
        some_modules.PAGE.format(page),
        "tests/test_house.py",
    ]
    assert some_modules.choose_files(["LICENSE"]) == []
    # What the page of an inner folder lists is used by those that import the list.
    listed = some_modules.choose_files(["skmia/testing/_attack_checks/_tools.py"])
    assert "tests/testing/test_check_attack.py" in listed
