"""The article's last example: each fault as it happens, and the repair of the page checked."""

import math

import pytest
import torch
from tests.docs.pages import ROOT, defined_in
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from attncost.batches.loss import token_loss
from attncost.batches.padding_collator import PaddingCollator

PAGE = "docs/use/batches.md"
LENGTHS = (7, 3, 1, 5)
WRONG = 0.01


@pytest.fixture
def repaired():
    """Return what the code blocks of the page define: a repair is never copied into a test."""
    return defined_in(PAGE)


def said(text):
    return text in (ROOT / PAGE).read_text()


def made(layer, dtype=torch.float64):
    """Return a layer of the page with weights large enough for scores to matter."""
    torch.manual_seed(0)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.3)
    return layer.to(dtype)


def as_written(layer, x, padded):
    """Attend in the layer of the article with its mask, line by line."""
    batch_size, seq_len, d_model = x.shape
    heads = (batch_size, seq_len, layer.n_head, d_model // layer.n_head)
    Q, K, V = (W(x).view(heads).transpose(1, 2) for W in (layer.Wq, layer.Wk, layer.Wv))  # noqa: N806
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(heads[3])
    attention_mask = (padded != 0).float()
    scores = scores.masked_fill(attention_mask.unsqueeze(1) == 0, -1e9)
    output = torch.matmul(torch.softmax(scores, dim=-1), V)
    output = output.transpose(1, 2).contiguous().view(batch_size, seq_len, d_model)
    return layer.Wo(output)


def texts(lengths=LENGTHS, least=1):
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(least, 50, (n,), generator=generator) for n in lengths]


def embedding():
    torch.manual_seed(2)
    return nn.Embedding(50, 16, dtype=torch.float64)


def errors(layer, given):
    """Return by how much outputs of the article differ from those of each text alone."""
    ids, embed = pad_sequence(given, batch_first=True), embedding()
    out = as_written(layer, embed(ids), ids)
    alone = [layer(embed(text)[None])[0] for text in given]
    pairs = zip(out, alone, given, strict=True)
    return [float((one[: len(text)] - other).detach().abs().max()) for one, other, text in pairs]


def test_the_mask_fails_on_other_heads_than_texts(repaired):
    with pytest.raises(RuntimeError, match=r"\(4\) must match .* \(2\)"):
        errors(made(repaired["SelfAttention"](16, 2)), texts())
    assert said("4 texts, 2 heads: `RuntimeError`")


def test_with_as_many_heads_as_texts_it_hides_the_keys_of_others(repaired):
    found = errors(made(repaired["SelfAttention"](16, 4)), texts())
    wrong = sum(error > WRONG for error in found)
    assert said(f"{wrong} of {len(found)} texts are wrong")
    assert wrong == 4


def test_one_head_becomes_as_many_as_texts(repaired):
    with pytest.raises(RuntimeError, match="is invalid for input of size"):
        errors(made(repaired["SelfAttention"](16, 1)), texts())
    assert said("4 heads come out of 1")


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_of_one_text_it_is_right_unless_a_token_is_called_0(repaired, heads):
    layer = made(repaired["SelfAttention"](16, heads))
    (text,) = texts(lengths=(6,))
    assert errors(layer, [text])[0] < 1e-6
    text[2] = 0
    assert errors(layer, [text])[0] > WRONG


def test_features_make_a_mask_of_four_axes_that_fails_or_hides_what_is_0(repaired):
    layer = made(repaired["SelfAttention"](16, 4))
    x = pad_sequence([torch.randn(n, 16, dtype=torch.float64) for n in LENGTHS], batch_first=True)
    with pytest.raises(RuntimeError, match="must match"):
        as_written(layer, x, x)
    # As long as it has features, it is taken, and a feature that is 0 hides a key of that number.
    x = torch.randn(1, 16, 16, dtype=torch.float64).relu()
    assert (as_written(layer, x, x) - layer(x)).detach().abs().max() > WRONG


def test_its_large_number_overflows_in_half_precision(repaired):
    layer = made(repaired["SelfAttention"](16, 4), torch.float16)
    ids = pad_sequence(texts(), batch_first=True)
    with pytest.raises(RuntimeError, match="without overflow") as raised:
        as_written(layer, embedding()(ids).half(), ids)
    assert said(f"RuntimeError: {raised.value}")


def test_an_empty_text_reads_the_mean_of_padding(repaired):
    layer, ids = made(repaired["SelfAttention"](16, 2)), torch.zeros(1, 5).long()
    x = embedding()(ids) + torch.arange(5)[:, None]  # with positions, so that slots differ
    out = as_written(layer, x, ids)
    torch.testing.assert_close(out, layer.Wo(layer.Wv(x).mean(1, keepdim=True)).expand_as(out))
    nothing = layer(x, key_mask=ids > 0)
    assert torch.equal(nothing, layer.Wo.bias.expand_as(nothing))


def test_a_mean_over_slots_depends_on_padding_and_one_over_tokens_does_not(generator):
    batch = PaddingCollator(labels="own")([{"input_ids": x, "labels": x} for x in texts()])
    padding = batch["attention_mask"] == 0
    assert said(f"{padding.numel()} slots are averaged, of which {int(padding.sum())} are padding")
    scores = torch.randn(*padding.shape, 50, generator=generator)
    edited = scores.masked_fill(padding[..., None], 0.0)

    def over_slots(logits):
        return float(cross_entropy(logits.flatten(0, 1), batch["input_ids"].flatten()))

    def over_tokens(logits):
        return float(token_loss(logits, batch["labels"], tokens=sum(LENGTHS), shifted=False))

    assert abs(over_slots(scores) - over_slots(edited)) > WRONG
    assert over_tokens(scores) == over_tokens(edited)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("lengths", [(6,), (5, 2), LENGTHS, (3, 0, 4), (1, 1, 1, 16)], ids=str)
def test_repaired_any_batch_and_heads_give_each_text_what_it_says_alone(
    repaired, generator, lengths, heads, dtype
):
    layer = made(repaired["SelfAttention"](16, heads), dtype)
    sequences = [torch.randn(n, 16, generator=generator).relu().to(dtype) for n in lengths]
    outputs = repaired["attend_each"](layer, sequences)
    for out, sequence in zip(outputs, sequences, strict=True):
        assert out.shape == sequence.shape
        if len(sequence):
            torch.testing.assert_close(out, layer(sequence[None])[0], atol=1e-6, rtol=1e-5)


def test_repaired_half_precision_is_as_good_as_it_gets(repaired, generator):
    layer = made(repaired["SelfAttention"](16, 4), torch.float16)
    sequences = [torch.randn(n, 16, generator=generator).half() for n in LENGTHS]
    found = repaired["attend_each"](layer, sequences)
    expected = repaired["attend_each"](layer.float(), [x.float() for x in sequences])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.float(), other, atol=2e-2, rtol=2e-2)
