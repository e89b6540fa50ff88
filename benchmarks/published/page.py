"""The page that compares."""

from typing import NamedTuple

HEAD = """\
# Printed tables beside ours

`python benchmarks/compare_published.py` writes this page from the kept results and from the
printed values in `benchmarks/published`, which also stand in the columns `published_...` of the
result files. "Printed" is what a document prints, uncorrected; nothing of ours is called
published. Points that were published as files with the authors' code are called the authors'
files. Our data, nets and sizes differ from those of the documents unless a section says
otherwise, so most values cannot agree, and what is compared is the order of methods and the
claims. [Papers](../../doc/papers.md) lists all tables and figures, and says what the outcomes mean.
{reasons}

| table | outcome | beside a result of ours | what agrees |
|---|---|---|---|
"""


class Section(NamedTuple):
    """A printed table beside ours."""

    title: str
    source: str  # what we ran
    agreement: str  # one sentence
    body: str  # tables in markdown, and remarks


def to_number(value, decimals=3):
    """A number as on the other pages: no zero before the point; a blank for none."""
    if value != value or value is None:
        return ""
    if decimals == 0:
        return f"{value:,.0f}"
    text = f"{value:.{decimals}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def to_table(rows, head):
    """A table in markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def anchor(title):
    """The place of a heading."""
    kept = "".join(one for one in title.lower() if one.isalnum() or one in " -_")
    return kept.strip().replace(" ", "-")


def write_page(sections, outcomes, reasons):
    """The page; outcomes are those of the rows of doc/papers.md, by the places that they name, and
    reasons the numbers of its rows that differ for each reason."""
    n_rows, n_open = sum(reasons.values()), reasons["Open"]
    said = (
        f"Of its {n_rows} items that differ, {n_rows - n_open} have a reason that no further "
        f"computing on two cores\nwould change, and {n_open} are open."
    )
    places = [anchor(one.title) for one in sections]
    rows = "\n".join(
        f"| [{one.title}](#{place}) | {outcomes[place]} | {one.source} | {one.agreement} |"
        for one, place in zip(sections, places, strict=True)
    )
    parts = "\n\n".join(f"## {one.title}\n\n{one.body}" for one in sections)
    return f"{HEAD.format(reasons=said)}{rows}\n\n{parts}\n"
