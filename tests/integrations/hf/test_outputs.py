"""Outputs a text, whatever the way: MiniLM with its own weights on the lines of a novel."""

from functools import cache
from pathlib import Path

import pytest
import torch
import transformers
from tests.integrations.hf import zoo
from transformers import AutoModel, AutoTokenizer

from attncost import ShapeError, UnsupportedOption, hf
from attncost.batches.padding_collator import PaddingCollator
from attncost.batches.ways.bucketed import Bucketed
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.batches.ways.stepped import Stepped
from attncost.integrations.hf.outputs import outputs
from attncost.integrations.hf.padding import padding_collator
from attncost.integrations.pretrained import demo_folder

NOVEL = Path(__file__).parents[3] / "examples/data/pride_and_prejudice.txt"
WAYS = (Packed(100), Packed(256, multiple=256), Bucketed(3, pool=1), Stepped((40, 80), 2))


@cache
def lines():
    tokenizer = AutoTokenizer.from_pretrained(demo_folder())
    return tokenizer(NOVEL.read_text().splitlines()[:4])["input_ids"]


@cache
def minilm(implementation):
    hf.register("attncost")
    model = AutoModel.from_pretrained(demo_folder(), dtype=torch.float32).eval()
    model.set_attn_implementation(implementation)
    return model


@cache
def padded():
    """Return what the model says of one padded batch of all lines, by its own attention."""
    longest = max(map(len, lines()))
    ids = torch.tensor([line + [0] * (longest - len(line)) for line in lines()])
    mask = torch.tensor([[1] * len(line) + [0] * (longest - len(line)) for line in lines()])
    with torch.no_grad():
        states = minilm("sdpa")(input_ids=ids, attention_mask=mask).last_hidden_state
    return [row[: len(line)] for row, line in zip(states, lines(), strict=True)]


def most(found, expected):
    return max(float((one - other).abs().max()) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("way", [None, *WAYS], ids=str)
def test_real_texts_have_the_same_outputs_whatever_the_way(way):
    found = outputs(minilm("attncost"), lines(), way)
    scale = max(float(one.abs().max()) for one in padded())
    assert most(found, padded()) <= 1e-6 * scale
    vectors = ([one.mean(0) / one.mean(0).norm() for one in each] for each in (found, padded()))
    assert most(*vectors) <= 1e-6


def test_what_is_left_is_rounding():
    model, ids = bert(torch.float64), [[5, 6, 7] * 9, [8], [9, 11] * 6]
    own = zoo.ZOO["bert"](torch.float64)
    with torch.no_grad():
        expected = [own(torch.tensor([text])).last_hidden_state[0] for text in ids]
    for way in (Packed(30), Stepped((4, 32))):
        assert most(outputs(model, ids, way), expected) <= 1e-12


def test_an_edit_of_one_real_text_moves_no_other_to_the_last_bit():
    edited = [*lines()]
    edited[3] = edited[3][::-1]
    before, after = (outputs(minilm("attncost"), ids, Packed(512)) for ids in (lines(), edited))
    same = [torch.equal(one, was) for one, was in zip(after, before, strict=True)]
    assert same == [number != 3 for number in range(len(same))]


def test_real_weights_that_would_mix_texts_are_refused():
    with pytest.raises(UnsupportedOption, match="BertModel with sdpa attention lets packed texts"):
        outputs(minilm("sdpa"), lines(), Packed())
    assert most(outputs(minilm("sdpa"), lines()), padded()) <= 1e-5  # padded by default


def shapes(model, texts, way=None, **rest):
    return [tuple(one.shape) for one in outputs(model, texts, way, **rest)]


def bert(dtype=torch.float32):
    model = zoo.ZOO["bert"](dtype)
    model.set_attn_implementation(hf.register("attncost"))
    return model


@pytest.mark.parametrize("way", [None, Packed(9), Padded(2)], ids=str)
def test_empty_texts_have_no_rows_and_keep_their_places(way):
    texts = [[], [5, 6], [], [], [7], []]
    assert shapes(bert(), texts, way) == [(n, 64) for n in (0, 2, 0, 0, 1, 0)]
    assert shapes(bert(), [[], []], way) == [(0, 64)] * 2
    assert shapes(bert(), [], way) == []


@pytest.mark.parametrize("way", [Packed(150), Padded(2)], ids=str)
def test_texts_that_are_too_long_are_refused_cut_or_split(way):
    model, long = bert(), [*range(5, 95)] * 3
    with pytest.raises(ShapeError, match="at most 128 tokens, got 270: 1 of 2 texts"):
        outputs(model, [long, [5]], way)
    first, second = outputs(model, [long, [5]], way, too_long="cut")
    parts = outputs(model, [long[:128], long[128:256], long[256:], [5]], way)
    torch.testing.assert_close(first, parts[0], rtol=0, atol=1e-5)
    whole, _ = outputs(model, [long, [5]], way, too_long="split")
    torch.testing.assert_close(whole, torch.cat(parts[:3]), rtol=0, atol=1e-5)
    torch.testing.assert_close(second, parts[3], rtol=0, atol=1e-5)


def test_a_model_that_starts_beyond_0_has_fewer_positions_in_padded_batches_too():
    roberta = zoo.made("RobertaModel", "RobertaConfig", **zoo.TINY, pad_token_id=1)
    assert shapes(roberta, [[5] * 126], Padded(1)) == [(126, 64)]
    with pytest.raises(ShapeError, match="at most 126 tokens"):
        outputs(roberta, [[5] * 127], Padded(1))


def test_logits_are_taken_where_there_are_no_states_and_kinds_of_tokens_go_along():
    assert shapes(zoo.ZOO["llama"](), [[5, 6], [7]]) == [(2, 97), (1, 97)]
    model, ids = bert(), [5, 6, 7]
    kinds = {"input_ids": ids, "token_type_ids": [0, 1, 1]}
    plain = outputs(model, [ids])[0]
    for way in (Packed(), Padded()):
        found = outputs(model, [kinds, kinds], way)[1]
        with torch.no_grad():
            given = {name: torch.tensor([values]) for name, values in kinds.items()}
            expected = model(**given).last_hidden_state[0]
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
        assert float((found - plain).abs().max()) > 1e-3


@pytest.mark.parametrize("way", [Stepped((4, 9), 2), Packed(16, multiple=8)], ids=str)
def test_the_model_is_given_the_shapes_that_the_way_promises(way):
    model, met, lengths = bert(), [], (3, 9, 1, 4, 8)
    with_hook = model.register_forward_pre_hook(
        lambda _module, _args, given: met.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    outputs(model, [[5] * n for n in lengths], way)
    with_hook.remove()
    rows = [batch.layout(lengths) for batch in way.batches(lengths, range(len(lengths)))]
    assert met[-len(rows) :] == [(len(row.documents), row.width) for row in rows]


def test_the_default_packs_where_each_text_is_computed_by_itself():
    calls = []

    def noted(_module, _args, given):
        calls.append(sorted({"attention_mask", "cu_seq_lens_q"} & given.keys()))

    for model, way in ((bert(), "cu_seq_lens_q"), (zoo.ZOO["llama"](), "attention_mask")):
        with_hook = model.register_forward_pre_hook(noted, with_kwargs=True)
        calls.clear()
        outputs(model, [[5, 6], [7]])
        assert calls[-1] == [way]
        with_hook.remove()


def test_a_model_that_mixes_texts_outside_attention_is_padded_by_default():
    model = zoo.made("MambaForCausalLM", "MambaConfig", vocab_size=97, hidden_size=32)
    model.set_attn_implementation(hf.register("attncost"))
    assert shapes(model, [[5, 6], [7]]) == [(2, 97), (1, 97)]
    with pytest.raises(UnsupportedOption, match="read each other: use padded batches"):
        outputs(model, [[5, 6], [7]], Packed())


def test_progress_counts_all_texts_and_the_model_stays_as_it_was():
    model, told = bert().train(), []
    state = torch.get_rng_state()
    outputs(
        model,
        [[5, 6], [], [7] * 9],
        Packed(9),
        progress=lambda done, every: told.append((done, every)),
    )
    assert told[-1] == (3, 3)
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert model.training
    assert torch.equal(torch.get_rng_state(), state)
    assert not outputs(model, [[5]])[0].requires_grad


def test_what_is_no_list_of_texts_of_the_model_is_refused_in_one_line():
    for ids, line in (
        ({"input_ids": [[5, 6]]}, r"got a mapping of input_ids: pass tokenizer\(texts\)\['input"),
        ([[5, 97], [6]], "must be below 97, the vocabulary of BertModel, got 97: use the model's"),
    ):
        with pytest.raises(ShapeError, match=f"^[^\n]*{line}[^\n]*$"):
            outputs(bert(), ids)
    assert shapes(bert(), (text for text in ([5, 6], [7]))) == [(2, 64), (1, 64)]


def test_a_default_that_cannot_pack_the_tokens_of_these_texts_pads():
    """ESM scales a row by how many of its tokens are masked."""
    model = zoo.MORE["esm"](token_dropout=True)
    model.set_attn_implementation(hf.register("attncost"))
    ids = [[5, 3, 6], [7, 8]]
    with torch.no_grad():
        alone = [model(torch.tensor([text])).last_hidden_state[0] for text in ids]
    assert most(outputs(model, ids), alone) <= 1e-5


def test_a_model_that_refuses_packed_texts_in_its_own_words_is_padded_by_default():
    class Choosy(transformers.BertModel):
        def forward(self, input_ids, cu_seq_lens_q=None, **rest):
            if cu_seq_lens_q is not None:
                raise ValueError("one text\na row, please")
            return super().forward(input_ids, **rest)

    model = Choosy(bert().config).eval()
    model.set_attn_implementation("attncost")
    assert shapes(model, [[5, 6], [7]]) == [(2, 64), (1, 64)]
    with pytest.raises(UnsupportedOption, match=r"cannot read .* \(one text a row, please\): use"):
        outputs(model, [[5, 6], [7]], Packed())


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_the_encoder_of_a_model_that_reads_two_sequences_reads_one(name):
    encoder = (zoo.ZOO["t5"]() if name == "t5" else bart()).get_encoder()
    ids = [[5, 6, 7], [8, 9]]
    with torch.no_grad():
        alone = [encoder(torch.tensor([text])).last_hidden_state[0] for text in ids]
    assert most(outputs(encoder, ids), alone) <= 1e-5
    assert PaddingCollator(pad=encoder.config.pad_token_id) == padding_collator(encoder)
    with pytest.raises(UnsupportedOption, match="reads two sequences"):
        outputs(zoo.ZOO["t5"]() if name == "t5" else bart(), ids)


def bart():
    sizes = {f"{part}_{name}": n for part in ("encoder", "decoder") for name, n in _BART.items()}
    return zoo.made("BartModel", "BartConfig", vocab_size=97, d_model=32, **sizes)


_BART = {"layers": 1, "attention_heads": 2, "ffn_dim": 32}
