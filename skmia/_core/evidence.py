"""The words for what an audit concludes, and how its verdict and its document use them."""

from .visible import visible

EVIDENCE = LEAK, NONE, SHIFT, REVERSED, UNKNOWN = "leak", "none", "shift", "reversed", "unknown"
CONCLUSIVE = LEAK, NONE


def write_conclusion(grounds, evidence, headlines, describe):
    """Write the headline of the evidence, and what its function says of the grounds."""
    return visible(f"{headlines[evidence]}. {describe[evidence](grounds)}")


def check_evidence(document, evidence):
    """Refuse a document with another evidence than the one that follows from its numbers."""
    if evidence != document["evidence"]:
        raise ValueError(
            f"evidence is {document['evidence']!r}, but its numbers and checks say {evidence!r}"
        )
