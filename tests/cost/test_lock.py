from dataclasses import replace

import pytest

from attncost.cost.difference import Own
from attncost.cost.lock import Locked, compare


def model(**totals):
    return Locked(
        setting={"length": 16, "batch": 1, "training": False},
        totals={"parameters": 6, "dense": 30, "useful": 20, "executed": 30, "bytes": 99} | totals,
        modules={
            f"layers.{i}.q": Own(kind="Linear", parameters=3, dense=15, useful=10, bytes=9)
            for i in range(11)
        },
        unpriced={"my::op in layers.0": 2},
        at_most=("a mask has no values",),
        settings={"sliding_window": 64, "layer_types": ["sliding", "full"], "scale": 0.5},
        versions={"torch": "2.13.0"},
    )


def test_equal_counts_are_equal():
    assert compare(model(), model()).equal


@pytest.mark.parametrize("name", ["parameters", "dense", "useful"])
def test_what_no_library_decides_always_counts(name):
    verdict = compare(model(), replace(model(**{name: 7}), versions={"torch": "2.14.0"}))
    assert verdict.totals == {name: (model().totals[name], 7)}
    assert not verdict.equal


def test_what_a_library_decides_counts_for_the_same_version_of_it():
    modules = {name: replace(own, bytes=8) for name, own in model().modules.items()}
    other = replace(model(bytes=90, executed=31), modules=modules)
    same = compare(model(), other)
    assert same.totals == {"executed": (30, 31), "bytes": (99, 90)}
    assert len(same.changes) == 11
    assert same.left_out is None
    newer = compare(model(), replace(other, versions={"torch": "2.14.0", "transformers": "6.0"}))
    assert newer.equal
    assert "torch 2.13.0, here 2.14.0, transformers -, here 6.0" in newer.left_out


def test_keys_and_values_and_what_has_no_price_count():
    assert compare(model(kv_bytes_per_token=4), model(kv_bytes_per_token=8)).totals == {
        "kv_bytes_per_token": (4, 8)
    }
    verdict = compare(model(), replace(model(), unpriced={}))
    assert verdict.unpriced == {"my::op in layers.0": (2, 0)}
    assert not verdict.equal


def test_a_setting_that_changed_is_named_and_one_that_is_new_counts_for_the_same_versions():
    def with_settings(versions="2.13.0", **settings):
        return replace(model(), settings=settings, versions={"torch": versions})

    old = with_settings(sliding_window=64, old=1)
    assert compare(old, with_settings(sliding_window=64, old=1)).equal
    verdict = compare(old, with_settings(sliding_window=8, new=True))
    assert verdict.settings == {
        "sliding_window": (64, 8),
        "old": (1, "absent"),
        "new": ("absent", True),
    }
    assert not verdict.equal
    newer = compare(old, with_settings("2.14.0", sliding_window=8, new=True))
    assert newer.settings == {"sliding_window": (64, 8)}
    assert compare(old, with_settings("2.14.0", sliding_window=64, new=3)).equal
    assert compare(with_settings(bias=True), with_settings(bias=1)).settings == {"bias": (True, 1)}


def test_why_useful_is_a_bound_counts_and_its_words_only_for_the_same_versions():
    other = replace(model(), at_most=("another reason",))
    assert compare(model(), other).at_most == (("a mask has no values",), ("another reason",))
    assert not compare(model(), other).equal
    newer = {"torch": "2.14.0"}
    assert compare(model(), replace(other, versions=newer)).equal
    assert compare(model(), replace(model(), at_most=(), versions=newer)).at_most == (
        ("a mask has no values",),
        (),
    )
