"""What is said of a model with cheaper attention, against the numbers that it was given."""

from dataclasses import replace

import pytest

from attncost.measure.sweep.interleaved import Ratio
from attncost.report.html import html
from attncost.report.plain import plain
from attncost.report.quality.model_words import short_names
from attncost.report.quality.models import ModelQuality, model_document, quality_chapter
from attncost.report.text import text
from attncost.train.quality.errors import ErrorRow
from attncost.train.quality.estimate import Estimate
from attncost.train.quality.models.layer_reads import LayerRead
from attncost.train.quality.models.next_tokens import Bucket, TokenChange
from attncost.train.quality.models.results import Alone, Compared, Swapped
from attncost.train.quality.models.vectors import VectorChange

LAYERS = ("encoder.layer.0.attention", "encoder.layer.1.attention")


def vectors(cosine):
    return VectorChange(
        cosine=Estimate(cosine, cosine - 0.01, cosine + 0.01),
        worst=cosine - 0.1,
        worst_text=3,
        nearest=Estimate(0.5, 0.3, 0.7),
        overlap=Estimate(0.8, 0.7, 0.9),
        top=7,
    )


def swapped(attention, cosine, share, masses=(0.9, 0.4), **more):
    layers = tuple(
        LayerRead(name=name, mass=mass, moved=None if mass is None else 1 - mass)
        for name, mass in zip(LAYERS, masses, strict=True)
    )
    return Swapped(
        attention=attention,
        kind=attention.partition(":")[0],
        pairs_share=share / 2,
        attention_share=share,
        model_share=0.8 + 0.2 * share,
        blocks=(0.1, 0.3),
        layers=layers,
        **({"untrained": False, "vectors": vectors(cosine), "tokens": None} | more),
    )


def compared(**more):
    alone = [(name, vectors(c)) for name, c in zip(LAYERS, (0.99, 0.8), strict=True)]
    return Compared(
        **(
            {
                "model": "<demo>",
                "described": ("book: 16 lines.",),
                "texts": 16,
                "longest": 512,
                "ahead": True,
                "apart": 0.73,
                "own_share": 0.2,
                "swapped": (
                    swapped("window:width=33,ahead=16", 0.72, 0.2, (0.5, 0.4)),
                    swapped("window:width=65,ahead=32", 0.7, 0.3, (0.6, 0.5)),
                    swapped("bigbird:block=16", 0.93, 0.4),
                    swapped("linear", 0.99, 0.1, (None, None), untrained=True),
                ),
                "alone_of": "window:width=33,ahead=16",
                "alone": tuple(
                    Alone(name=name, moved=0.2, vectors=of, tokens=None) for name, of in alone
                ),
                "refused": (),
            }
            | more
        )
    )


def document(found, **more):
    return model_document(ModelQuality(found=found, command="attncost quality demo", **more))


def sentences(found):
    return {finding.key: finding.text for finding in document(found).findings}


def test_the_closest_and_the_cheapest_of_what_is_not_beaten_come_first():
    said = sentences(compared())
    assert (
        said["closest"]
        == "Closest that needs no training: bigbird 16, cosine 0.93 (0.92 to 0.94), "
        "0.400 x the attention."
    )
    assert said["cheapest"].startswith("Cheapest that needs no training: window 33, cosine 0.72")
    trained = replace(compared(), swapped=compared().swapped[:3])
    # A window of 65 is beaten in both.
    assert sentences(trained)["cheapest"].startswith("Cheapest: window 33, cosine 0.72")
    assert said["apart"] == "Beside that: two different texts have a cosine of 0.73."


def test_what_must_be_trained_first_is_named_and_never_recommended():
    found = compared()
    assert not any("linear" in said for said in sentences(found).values())
    assert "No softmax, so that a model must learn with it first: linear." in text(document(found))


def test_the_layer_that_hurts_most_is_named_with_its_mass():
    said = sentences(compared())
    assert (
        said["layer"]
        == "Layer 1 alone loses most by window 33: 1 - cosine 0.2, 40.0 % of its mass kept."
    )
    assert "layer" not in sentences(compared(alone=(), alone_of=""))


def test_mass_that_is_left_out_explains_what_moves_as_scipy_ranks_it():
    # Every layer of the sample moves by what it leaves out.
    wide = tuple(swapped(f"window:width={w}", 0.7, 0.2, (w / 100, w / 99)) for w in range(1, 11))
    found = compared(swapped=(*wide, *compared().swapped))
    assert sentences(found)["related"] == (
        "Mass left out: rank correlation 1.00 with how far a layer moves, of 26 layers under "
        "patterns."
    )
    assert "related" not in sentences(compared()), "6 points agree by chance"


def test_where_nothing_executes_less_that_is_said():
    found = compared(swapped=(swapped("window:width=33,ahead=16", 0.72, 1.2),))
    assert sentences(found)["cheaper"] == (
        "At 512 tokens nothing that was tried executes less than the model's own attention: a "
        "dense mask is faster than to read fewer pairs."
    )
    full = replace(swapped("full", 1.0, 1.0), pairs_share=1.0)
    mechanism = replace(swapped("linear", 0.2, 1.3, untrained=True), pairs_share=None)
    for one in (full, mechanism):
        found = compared(swapped=(one,), alone=(), alone_of="")
        assert sentences(found)["cheaper"].endswith("than the model's own attention.")


def test_tables_hold_the_numbers_unrounded_and_fit_a_terminal():
    made = document(compared(), times={"bigbird:block=16": Ratio(1.5, 1.4, 1.6, 15)})
    tables = {table["title"]: table["rows"] for table in plain(made)["tables"]}
    assert tables["Quality beside cost"][0] == [
        *("window 33", 0.2, 0.72, 0.72 - 0.01, 0.72 + 0.01, 0.72 - 0.1)
    ]
    assert tables["Neighbours"][0] == ["window 33", 0.5, 0.3, 0.7, 0.8, 0.7, 0.9]
    of_model = 0.8 + 0.2 * 0.4
    assert tables["Cost"][2] == [
        *("bigbird 16", 0.2, 0.4, of_model, 1.5, 1.4, 1.6, "bigbird:block=16")
    ]
    assert tables["Mass kept by layer"] == [["0", 0.5, 0.6, 0.9], ["1", 0.4, 0.5, 0.4]]
    assert max(map(len, text(made).splitlines())) <= 80


def test_tables_without_their_titles_say_what_they_are_of():
    written = " ".join(text(document(compared())).split())
    for words in ("In one layer at a time stands window 33.", "Cost, all over", "Neighbours by"):
        assert words in written
    assert "95 % interval" in written
    assert "95 % interval" not in " ".join(text(document(compared(texts=1))).split()[:200])


def test_a_page_escapes_the_name_of_a_model():
    page = html(document(compared()))
    assert "<demo>" not in page
    assert "&lt;demo&gt;" in page


def test_nats_stand_by_how_much_was_read():
    buckets = (
        Bucket(start=0, stop=64, tokens=63, was=3.0, now=3.1, divergence=0.1),
        Bucket(start=64, stop=128, tokens=9, was=2.0, now=2.7, divergence=0.5),
    )
    change = TokenChange(
        was=2.875,
        added=Estimate(0.175, 0.1, 0.2),
        same=Estimate(0.9),
        divergence=0.15,
        buckets=buckets,
    )
    one = swapped("window:width=64", 0, 0.5, vectors=None, tokens=change)
    made = document(compared(swapped=(one,), alone=(), alone_of="", apart=None))
    tables = {table["title"]: table["rows"] for table in plain(made)["tables"]}
    assert tables["Nats of a token, by how many were read before it"] == [
        ["1 to 63", 63, 3.0, 3.1],
        ["64 to 127", 9, 2.0, 2.7],
    ]
    assert tables["Quality beside cost"][0][2:5] == [0.175, 0.1, 0.2]
    assert tables["Quality beside cost"][0][5] == pytest.approx(21.12, abs=0.01)
    said = {finding.key: finding.text for finding in made.findings}
    assert said["closest"] == "Closest: window 64, +0.175 nats (0.1 to 0.2), 0.500 x the attention."
    assert "a perplexity of 17.73" in said["own"]


def test_errors_stand_by_dial_and_exact_ones_are_not_drawn():
    rows = [
        ErrorRow(method=method, dial=8, error=error, low=error, high=error)
        for method, error in [
            ("window", 0.5),
            ("linformer", 5.0),
            ("best rank", 1e-15),
        ]
    ]
    made = document(compared(), errors={"activations": rows})
    tables = {table["title"]: table["rows"] for table in plain(made)["tables"]}
    assert tables["Error by dial, of activations"] == [[8, 0.5, 5.0, 1e-15]]
    said = {finding.key: finding.text for finding in made.findings}
    assert said["errors"].startswith("Of 8 keys, a window errs by 0.5, a random projection by 5,")


def test_a_chapter_says_the_same_in_less():
    found = replace(compared(), refused=("strided was not tried: it is causal.",))
    chapter = quality_chapter(ModelQuality(found=found, command="attncost quality demo"))
    assert [finding.key for finding in chapter.findings] == ["closest", "cheapest"]
    assert "strided was not tried: it is causal." in chapter.section.text


def test_names_are_short_as_long_as_they_differ():
    same = ["window:width=8", "window:width=8,ahead=4", "linear:causal=1"]
    assert short_names(same) == {same[0]: same[0], same[1]: same[1], same[2]: "linear 1"}
