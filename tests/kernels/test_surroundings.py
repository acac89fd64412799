"""What goes on around a call changes nothing: modes, default devices, autocast, other threads."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import torch
from tests.kernels.attend import attend, every_plain_kernel
from tests.oracle import definition, random_key_mask, random_qkv, read

from attncost import BigBird, Custom, Pattern, ShapeError, Strided, Window, attention, explain
from attncost.core.counts import counted
from attncost.patterns.interface import Part, Span, Tile, cut

PATTERNS = [Window(9), Strided(8), BigBird(16, longest=300), Window(9) & Strided(3)]


@pytest.mark.parametrize("kernel", ["auto", "sdpa", "folded", "reference"])
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_a_default_device_is_for_other_tensors(kernel, pattern, generator):
    qkv = random_qkv(generator, 71, 71)
    with torch.device("meta"):
        within = attention(*qkv, pattern, kernel=kernel, dropout_p=0.0)
        torch.autograd.grad(within.sum(), qkv)
    exact, _ = definition(*qkv, pattern.mask(71, 71))
    torch.testing.assert_close(within, exact)
    torch.testing.assert_close(attention(*qkv, pattern, kernel=kernel), exact)


@every_plain_kernel
def test_what_was_made_in_inference_mode_serves_training(kernel, generator):
    qkv, pattern = random_qkv(generator, 53, 53), Window(11, ahead=2)
    with torch.inference_mode():
        first = attend(kernel, *(x.detach() for x in qkv), pattern)
    out = attend(kernel, *qkv, pattern)
    torch.autograd.grad(out.sum(), qkv)
    assert torch.equal(out, first)


@every_plain_kernel
@pytest.mark.parametrize("softcap", [None, 3.0])
def test_autocast_narrows_the_inputs_and_nothing_else(kernel, softcap, generator):
    qkv = [x.detach().float() for x in random_qkv(generator, 70, 70)]
    half = attend(kernel, *(x.bfloat16() for x in qkv), Window(20), softcap=softcap)
    with torch.autocast("cpu", torch.bfloat16):
        out = attend(kernel, *qkv, Window(20), softcap=softcap)
        assert torch.is_autocast_enabled("cpu")
    assert out.dtype == torch.bfloat16
    assert torch.equal(out, half)


def test_threads_do_not_mix_up_their_patterns(generator):
    qkv = random_qkv(generator, 90, 90)

    def worst(width):
        out = attention(*qkv, Window(width), kernel="folded")
        exact, _ = definition(*qkv, Window(width).mask(90, 90))
        return float((out - exact).detach().abs().max())

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(worst, range(1, 60))) < 1e-12


@every_plain_kernel
def test_a_great_bias_keeps_small_differences_apart_in_half_precision(kernel, generator):
    q, k, v = (x.detach().bfloat16() for x in random_qkv(generator, 40, 40))
    bias = 200 + torch.randn(1, 1, 40, 40, generator=generator)
    out = attend(kernel, q, k, v, bias=bias)
    mask = torch.ones(40, 40, dtype=torch.bool)
    exact, _ = definition(*(x.double() for x in (q, k, v)), mask, bias=bias.double())
    torch.testing.assert_close(out.double(), exact, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("kernel", ["folded", "reference"])
def test_a_sink_of_minus_infinity_is_no_sink(kernel, generator):
    qkv = random_qkv(generator, 9, 4)
    sink = torch.full((4,), -torch.inf, dtype=torch.float64).requires_grad_()
    out = attention(*qkv, Window(3), sink=sink, kernel=kernel)
    torch.testing.assert_close(out, attention(*qkv, Window(3), kernel=kernel))
    assert not any(x.isnan().any() for x in torch.autograd.grad(out.sum(), [*qkv, sink]))


def test_a_function_in_a_pattern_is_not_taken_for_another(generator):
    qkv = random_qkv(generator, 30, 30)
    rules = [lambda query, key, far=far: query - key == far for far in (0, 1, 2)]
    for far, rule in enumerate(rules):
        out = attention(*qkv, Custom(rule), kernel="folded")
        exact, _ = definition(*qkv, torch.ones(30, 30, dtype=torch.bool).tril(-far).triu(-far))
        torch.testing.assert_close(out, exact)


def test_explain_counts_what_masks_leave_and_says_how_long_the_others_take(generator):
    qkv = random_qkv(generator, 600, 600)
    key_mask = random_key_mask(generator, 600)
    bias = torch.zeros(1, 4, 600, 600, dtype=torch.float64)
    bias[:, 1] = -torch.inf
    said = explain(*qkv, Window(16), key_mask=key_mask, bias=bias)
    reads = read(Window(16).mask(600, 600), key_mask=key_mask).expand(2, 4, 600, 600).clone()
    reads[:, 1] = False
    assert said.kernel == "folded"
    assert said.hiding == ()
    assert said.cost.useful == int(reads.sum()) * 2 * (8 + 8)
    assert sum(step.useful for _, step in said.cost.steps) == said.cost.useful
    assert said.pairs[0] == -(-int(reads.sum()) // (2 * 4)) < said.pairs[1]
    assert min(said.others.values()) >= 1
    assert "at most" not in str(said)
    assert max(map(len, str(said).splitlines())) <= 80


def test_explain_names_what_may_hide_where_it_cannot_be_looked_at(generator):
    qkv = [x.detach().to("meta") for x in random_qkv(generator, 600, 600)]
    key_mask = torch.ones(2, 600, dtype=torch.bool, device="meta")
    said = explain(*qkv, Window(16), key_mask=key_mask, bias=qkv[0][:, :, :1, :1])
    assert said.hiding == ("key_mask", "bias")
    assert said.pairs[0] == Window(16).pairs(600, 600)
    assert str(said).count("at most") == 2
    note = " ".join(str(said).split())
    assert "note: what key_mask and bias may hide counts as useful, too." in note
    assert max(map(len, str(said).splitlines())) <= 80


def test_a_softcap_or_scale_that_is_no_number_is_refused(generator):
    qkv = random_qkv(generator, 5, 5)
    with pytest.raises(ShapeError, match="softcap must be a number greater than 0, got inf"):
        attention(*qkv, softcap=float("inf"))
    with pytest.raises(ShapeError, match="scale must be a finite number, got nan"):
        attention(*qkv, scale=float("nan"))


def test_a_class_that_no_import_finds_is_a_pattern_too(generator):
    def made(far):
        @dataclass(frozen=True, slots=True)
        class Own(Pattern):
            """Keys at one distance."""

            source = "here"
            examples, pairs = classmethod(lambda cls: (cls(),)), counted
            relative = True

            def allowed(self, query, key):
                return query - key == far

            def parts(self, n, m, block):
                keys = (Span(range(m), full=False),)
                tiles = tuple(Tile(rows, keys) for rows in cut(range(m - n, m), block))
                return (Part(tiles, self.allowed, relative=False),)

        return Own()

    qkv = random_qkv(generator, 40, 40)
    for far in (0, 1, 2):
        out = attention(*qkv, made(far), kernel="folded")
        exact, _ = definition(*qkv, torch.ones(40, 40, dtype=torch.bool).tril(-far).triu(-far))
        torch.testing.assert_close(out, exact)
