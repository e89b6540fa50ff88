"""The page of an audit: what it says, that it needs nothing else, and that it is well formed."""

import html
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.report._page import draw_groups, draw_power, render

pytest.importorskip("jinja2")


class Reader(HTMLParser):
    """Collects texts and attributes, and insists on closed elements."""

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["style"], ["script"]):
            self.texts.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return " ".join(" ".join(reader.texts).split()), reader.attributes


def make_result(max_depth=None, n=600, model=None, **settings):
    records, membership = make_membership_problem(n, random_state=0)
    rng = np.random.default_rng(0)
    names = np.array([f"person {k}" for k in range(n)])
    city = rng.choice(["Rome", "<b>Oslo</b>"], n)
    records = Records(records.X, records.y, record_id=names, city=city)
    members = records[membership == 1]
    model = model or DecisionTreeClassifier(max_depth=max_depth, random_state=0)
    victim = model.fit(members.X, members.y)
    settings = {"shadows": 4, "random_state": 0, "group": "city"} | settings
    return audit(victim, records, membership, **settings)


@pytest.fixture(scope="module")
def leaky():
    return make_result()


def test_it_says_what_the_audit_found(leaky):
    text, _ = read(leaky.to_html(title="A tree"))
    assert text.startswith("A tree A tree")
    assert " ".join(leaky.verdict.split(". ", 1)) in text
    for name in leaky.scores:
        assert name in text
    assert "Limitations" in text
    assert "person" in text
    assert "not resolvable" in text  # of 300 non-members 0.1% is none


def test_a_model_that_tells_nothing_is_told_from_a_leaky_one():
    text, _ = read(make_result(1, attacks={"loss": ThresholdAttack()}).to_html())
    assert "No leakage detected" in text and "Leakage found" not in text


def test_it_needs_no_other_file(leaky):
    page = leaky.to_html()
    _, attributes = read(page)
    assert not {name for name, _ in attributes} & {"src", "href"}
    assert "://" not in page and "url(" not in page and "@import" not in page


def test_text_of_the_user_stays_text(leaky):
    page = leaky.to_html(title="<script>alert(1)</script>")
    assert "<b>Oslo" not in page and "&lt;b&gt;Oslo" in page
    assert "<script>alert" not in page


def test_exposed_records_are_the_highest_members(leaky):
    document = json.loads(leaky.to_json())
    best = document["curves"][0]["attack"]
    scores, members = leaky.scores[best], np.flatnonzero(leaky.membership)
    exposed = document["exposed"]
    assert [row["attack"] for row in exposed] == [best] * 20
    np.testing.assert_allclose(
        [row["score"] for row in exposed], np.sort(scores[members])[::-1][:20]
    )
    first = exposed[0]
    row = int(first["record"].removeprefix("person "))
    assert leaky.membership[row] and scores[row] == first["score"]
    assert first["n_above"] == np.sum(scores[~leaky.membership] >= first["score"])


def test_curves_are_points_of_the_roc_curve(leaky):
    for curve in json.loads(leaky.to_json())["curves"]:
        scores, truth = leaky.scores[curve["attack"]], leaky.membership
        cuts = np.unique(scores)
        points = {
            (round(np.mean(scores[~truth] >= cut), 6), round(np.mean(scores[truth] >= cut), 6))
            for cut in cuts
        }
        assert set(zip(curve["fpr"], curve["tpr"])) <= points
        assert all(
            low <= tpr <= high for tpr, low, high in zip(curve["tpr"], curve["low"], curve["high"])
        )
        assert curve["fpr"] == sorted(set(curve["fpr"])) and curve["fpr"][-1] == 1


def test_a_difference_of_the_records_themselves_is_a_warning():
    records, membership = make_membership_problem(600, random_state=0)
    shifted = Records(records.X + 2 * membership[:, None], records.y)
    members = shifted[membership == 1]
    victim = DecisionTreeClassifier(max_depth=1).fit(members.X, members.y)
    result = audit(victim, shifted, membership, shadows=4, random_state=0)
    text, _ = read(result.to_html())
    assert "Inconclusive: members and non-members differ They come from different" in text
    assert "Leakage found" not in text
    assert "cannot be attributed to leakage" in result.summary().replace("\n  ", " ")


def test_the_page_is_that_of_the_document(leaky, tmp_path):
    page = leaky.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert render(json.loads(leaky.to_json())) == page


def test_keys_to_sort_by_are_there(leaky):
    cells = re.findall(r"<t[dh] (?:scope=.row. )?data-key", leaky.to_html())
    assert len(cells) >= len(leaky.results)


def test_values_of_exposed_records_are_shown_only_when_they_are_given(leaky):
    table = pd.DataFrame({"secret": [f"value <{k}>" for k in range(len(leaky.membership))]})
    first = json.loads(leaky.to_json())["exposed"][0]
    shown, _ = read(leaky.to_html(values=table))
    assert "secret" in shown and f"value <{first['position']}>" in shown
    assert shown.count("value <") == 20
    hidden, _ = read(leaky.to_html())
    assert "Feature values are not shown" in hidden and "value <" not in hidden
    with pytest.raises(ValueError, match="a row for each of 600 records; got 3"):
        leaky.to_html(values=table[:3])


def test_a_notebook_gets_the_page_in_a_frame_of_its_own(leaky, monkeypatch):
    shown = leaky._repr_html_()
    assert shown.startswith("<iframe ") and shown.endswith("</iframe>")
    assert html.unescape(shown.split('srcdoc="')[1].split('" title=')[0]) == leaky.to_html()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert leaky._repr_html_() == f"<pre>{html.escape(leaky.summary())}</pre>"


def test_a_rate_of_a_thousandth_is_refused_with_under_200_records():
    report = make_result(n=198, fprs=(0.2, 0.001))
    frame = report.to_frame().query("max_fpr == 0.001")
    assert (frame["status"] == "not resolvable").all() and frame["estimate"].isna().all()
    text, _ = read(report.to_html())
    assert "No TPR is given at 0.1%" in text
    assert set(report.permutation.frame["max_fpr"].dropna()) == {0.2}


def test_a_page_of_few_records_and_equal_numbers_is_made(leaky):
    document = json.loads(leaky.to_json())
    document["performance"] |= {"metric": "r2", "nonmembers": None, "gap": None}
    for row in document["power"]["numbers"]:
        row |= {"auc": 0.5, "sd": 0.0}
    own = next(row for row in document["results"] if row["attack"] == document["power"]["attack"])
    own["estimate"] = 0.5
    document["power"]["numbers"].append(dict(document["power"]["numbers"][-1], n_shadows=64))
    for test in document["disparity"]["scopes"]:
        test["statistic"] = None  # infinite
    text, _ = read(render(document))
    assert "nan on non-members" in text


def test_drawings_put_numbers_where_the_ticks_say():
    rows = [
        {"group": "a", "estimate": 0.62, "low": 0.55, "high": 0.7},
        {"group": "b", "estimate": 0.75, "low": 0.6, "high": 0.97},
    ]
    drawing = draw_groups(rows)
    numbers, places = np.array([[float(label), x] for label, x in drawing["ticks"]]).T
    assert numbers.tolist() == [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert (places[0], places[-1]) == (drawing["left"], drawing["right"])
    for row, dot in zip(rows, drawing["dots"], strict=True):
        asked = [row[name] for name in ("estimate", "low", "high")]
        found = [dot[name] for name in ("x", "low", "high")]
        np.testing.assert_allclose(found, np.interp(asked, numbers, places))
    power = [{"n_shadows": n, "auc": 0.8 + n / 200, "sd": 0.02} for n in (4, 8, 16)]
    drawing = draw_power(power, 0.9)
    numbers, places = np.array([[float(label), y] for label, y in drawing["y_ticks"]]).T
    assert (places[0], places[-1]) == (drawing["bottom"], drawing["top"])
    ys = [float(point.split(",")[1]) for point in drawing["line"].split()]
    expected = np.interp([row["auc"] for row in power], numbers, places)
    np.testing.assert_allclose(ys, expected, atol=0.051)  # written with one decimal
    assert drawing["victim"] == pytest.approx(np.interp(0.9, numbers, places))


def test_shadow_models_of_the_same_recipe_are_like_the_model():
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_leaf_nodes=17))
    alike, _ = read(make_result(model=model).to_html())
    assert alike.count("max_leaf_nodes=17") == 2  # under the title and as the model
    assert "4 shadow models like it on random halves of these records;" in alike
    other, _ = read(make_result(model=model, estimator=DecisionTreeClassifier()).to_html())
    assert "on random halves of these records: DecisionTreeClassifier()" in other
