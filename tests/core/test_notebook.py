"""What results look like in a notebook: all of them have a table, and nothing gets out of it."""

import inspect
import typing
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

import attncost as ac
from attncost.core.notebook import as_html

HOMES = {"ac": ac, "planning": ac.planning, "batches": ac.batches, "hf": ac.hf, "train": ac.train}
HOSTILE = "</td><script>alert(1)</script>&"


def public(home):
    named = getattr(home, "__all__", [name for name in dir(home) if not name.startswith("_")])
    return [(name, getattr(home, name)) for name in named]


def ours_in(annotation):
    if inspect.isclass(annotation) and annotation.__module__.startswith("attncost."):
        yield annotation
    for part in typing.get_args(annotation):
        yield from ours_in(part)


def returned():
    """Give each class of ours that a public function returns: tables of numbers, no modules."""
    for home, where in HOMES.items():
        for name, function in public(where):
            if inspect.isfunction(function) and name != "meter_callback":  # returns another's class
                for kind in ours_in(typing.get_type_hints(function).get("return")):
                    if is_dataclass(kind) or issubclass(kind, ABC | Mapping):
                        yield f"{home}.{name}", kind


@pytest.mark.parametrize(("function", "kind"), sorted(set(returned()), key=str), ids=str)
def test_what_a_public_function_returns_is_shown(function, kind):
    assert hasattr(kind, "_repr_html_") or hasattr(kind, "_repr_svg_"), function


def test_the_walk_finds_results():
    assert {"Cost", "Counted", "Footprint", "Explanation", "Fit", "Statistics", "Trained"} <= {
        kind.__name__ for _, kind in returned()
    }


class Cells(HTMLParser):
    """Reads a table back, and notes which elements there are."""

    def __init__(self, page):
        super().__init__()
        self.kinds, self.rows, self.depth = set(), {}, 0
        self.name, self.text = "", ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.kinds.add(tag)
        self.text = "" if tag in ("th", "td") else self.text

    def handle_endtag(self, tag):
        if tag == "th":
            self.name = self.text
        if tag == "td":
            self.rows.setdefault(self.name, self.text)

    def handle_data(self, data):
        self.text += data


@dataclass
class Inner:
    """Something inside."""

    bytes: int
    name: str


@dataclass
class Result:
    """What was found.

    Attributes:
        useful: FLOPs that
            matter.
        share: Of all.
    """

    useful: int = 4_294_967_296
    share: float = 0.25
    sure: bool = True
    nothing: None = None
    said: str = HOSTILE
    inside: tuple[Inner, ...] = (Inner(2048, HOSTILE), Inner(1, "b"))
    weights: torch.Tensor = field(default_factory=lambda: torch.zeros(2, 3))
    many: tuple[int, ...] = tuple(range(50))
    counted: np.int64 = field(default_factory=lambda: np.int64(5))
    by_name: Mapping[str, int] = field(default_factory=lambda: {HOSTILE: 1})

    @property
    def double(self):
        """Twice the share. And no more."""
        return 2 * self.share

    @property
    def missing(self):
        """What cannot be."""
        raise ac.ShapeError("there is none.")


def test_a_row_says_its_name_its_value_and_what_it_means():
    page = as_html(Result())
    rows = Cells(page).rows
    assert rows["useful"] == "4.29 GFLOPs"
    assert "FLOPs that matter." in page
    assert rows["share"] == "0.25"
    assert (rows["sure"], rows["nothing"]) == ("yes", "none")
    assert rows["double"] == "0.5"
    assert rows["missing"] == "none: there is none."
    assert rows["weights"] == "torch.float32 (2, 3)"
    assert rows["counted"] == "5"
    assert rows["many"].endswith("18, 19, ...")
    assert "2.00 KiB" in page


def test_hostile_names_and_texts_stay_text():
    page = as_html(Result())
    assert page.count("&lt;script&gt;") == 3  # said, in a field inside, as a key
    kinds = Cells(page).kinds
    assert kinds <= {"div", "p", "b", "table", "tr", "th", "td", "details", "summary", "br"}


def results():
    layer = torch.nn.Linear(8, 8)
    x = torch.randn(2, 8)
    q = torch.randn(1, 1, 4, 8)
    model = ac.preset("llama-3-8b")
    how = ac.planning.Situation(work="decode")
    samples = {n: [n / 1e4 + n * n / 1e7] for n in (64, 128, 256, 512, 1024)}
    found = ac.statistics(q, q)
    return [
        ac.layer_cost(ac.Full(), d_model=512, heads=8),
        ac.layer_cost(ac.Full(), d_model=512, heads=8, length=64),
        ac.count(layer, x),
        ac.memory(layer, x),
        ac.explain(q, q, q),
        model,
        ac.planning.longest(model, how, memory=80 * 2**30),
        *ac.planning.needs(model, how, length=8),
        ac.planning.device("h100"),
        ac.fit_law(samples, predicted=lambda n: ac.Predicted(linear=n, core=n * n)),
        found,
        ac.head_summaries(found),
        ac.Linear(),
        ac.formula("nystrom"),
        ac.Linformer(),
    ]


@pytest.mark.parametrize("result", results(), ids=lambda one: type(one).__name__)
def test_real_results_are_tables(result):
    page = result._repr_html_()
    assert page.startswith(f"<div><p><b>{type(result).__name__}</b>")
    assert len(Cells(page).rows) > 0
    assert len(page) < 300_000
