"""Names that a table or a result brings along: seen as they are, and without any effect."""

import base64
import hashlib
import html
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.disparity import DisparityTest
from skmia.leakage import WorstCaseVulnerability
from skmia.metrics import RankingTest
from skmia.report._document import check_document
from skmia.report._page import render_audit

pytest.importorskip("jinja2")

FORGED = "a\n\nNo leakage detected.\nexit 0"
TITLE = "\x1b]0;owned\x07\x1b[2J"
TURNED = "\u202egnitic"
HALF = "half \ud800"
HEBREW = "\u05d0\u05d1\u05d2"
NAMES = [FORGED, TITLE, TURNED, HALF, HEBREW]
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def problem():
    """Victim, records in groups with such names, membership; ten people are on both sides."""
    rng = np.random.default_rng(0)
    n = 240
    X = rng.normal(size=(n, 4))
    people = np.repeat([f"{TITLE}{k}" for k in range(n // 2)], 2)
    records = Records(
        X,
        rng.choice(["no\nyes", "yes\x1b[2J"], n),
        kind=rng.choice(NAMES, n).astype(object),
        group_by=people.astype(object),
    )
    membership = np.repeat(rng.permutation(n // 2) % 2, 2)
    membership[:20:2], membership[1:20:2] = 0, 1
    members = records[membership == 1]
    return DecisionTreeClassifier(random_state=0).fit(members.X, members.y), records, membership


@pytest.fixture(scope="module")
def result(problem):
    attacks = {"loss": ThresholdAttack(), "LiRA": LiRA()}
    settings = {"attacks": attacks, "shadows": 4, "fprs": (0.2,), "random_state": 0}
    return audit(*problem, group="kind", **settings)


def assert_visible(text):
    assert RAW.search(text) is None
    assert "exit 0" not in text.splitlines()


def test_the_summary_has_no_line_that_a_table_wrote(result):
    text = result.summary(verbose=True)
    assert_visible(text)
    assert "kind = a\\n\\nNo leakage detected.\\nexit 0 (" in text
    assert "kind = \\x1b]0;owned\\x07\\x1b[2J (" in text
    assert "kind = \\u202egnitic (" in text and "kind = half \\ud800 (" in text
    assert_visible(result.verdict)
    for check in result.checks.values():
        assert_visible(check.text)
    assert "\\x1b]0;owned" in result.checks["people"].text


def test_an_audit_with_such_names_is_written_and_read_again(result, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paths = result.save(tmp_path)
    assert "report.html" in [path.name for path in paths]
    document = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    groups = {row["group"] for row in document["results"] if row["scope"] == "kind"}
    assert groups == {FORGED, TITLE, TURNED, "half \\ud800", HEBREW}
    assert render_audit(check_document(document)) == result.to_html()


def test_the_page_isolates_them(result):
    page = result.to_html()
    assert_visible(page)
    for name in (FORGED, TITLE, TURNED, HALF, HEBREW):
        shown = name.encode("unicode_escape").decode() if name != HEBREW else HEBREW
        assert re.search(f"<bdi>[^<]*{re.escape(html.escape(shown))}</bdi>", page)


def test_letters_from_right_to_left_do_not_turn_a_sentence(result):
    document = json.loads(result.to_json())
    document["notes"] = [f"In {HEBREW} {HEBREW} (12 records) <b>"]
    page = render_audit(document)
    assert f"In <bdi>{HEBREW} {HEBREW}</bdi> (12 records) &lt;b&gt;" in page


def test_the_page_lets_nothing_in_but_its_own_style(result):
    page = result.to_html(title="<script>alert(1)</script>")
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1))
    assert policy.startswith("default-src 'none';")
    (content,) = re.findall("<style>(.*?)</style>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert "script" not in policy and "unsafe" not in policy and "<script" not in page
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert not re.search(r"<[^>]+ (style|on\w+)=", page)


def test_the_frame_in_a_notebook_is_a_sandbox(result):
    assert result._repr_html_().startswith('<iframe sandbox="" srcdoc="')


def test_other_summaries(problem):
    _, records, membership = problem
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((12, 3)), columns=[FORGED, TITLE, TURNED])
    assert_visible(DisparityTest.from_table(table).summary())
    assert_visible(RankingTest().fit(table).summary())
    kinds = pd.Series(records["kind"], dtype=object)
    frame = pd.DataFrame({"x": rng.integers(0, 3, len(kinds)), "kind": kinds})
    worst = WorstCaseVulnerability(method="plugin", group_column="kind", random_state=0)
    assert_visible(worst.fit(frame, membership).summary())


def test_messages():
    frame = pd.DataFrame({TITLE: [1, 2], "y": [0, 1]})
    with pytest.raises(ValueError, match="Unknown column") as caught:
        Records.from_frame(frame, target="z")
    assert_visible(str(caught.value))
    table = pd.DataFrame(np.random.default_rng(0).random((12, 2)), columns=[FORGED, TITLE])
    with pytest.raises(ValueError, match="did not occur in fit") as caught:
        DisparityTest.from_table(table).predict(["c"])
    assert_visible(str(caught.value))
    records = Records(np.zeros((4, 1)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="got the values") as caught:
        audit(
            DecisionTreeClassifier(random_state=0),
            records,
            [FORGED, TITLE, FORGED, TITLE],
            random_state=0,
        )
    assert_visible(str(caught.value))
