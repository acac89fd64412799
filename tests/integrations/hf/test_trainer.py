"""Packed batches in the `Trainer` of transformers: what it learns is what a loop over texts learns.

`Trainer` needs `accelerate`, without which there is nothing here to be tested.
"""

from itertools import chain

import pytest
import torch
from tests.integrations.hf import zoo
from torch import nn
from transformers import Trainer, TrainingArguments

from attncost import hf
from attncost.batches.dataset import BatchedDataset
from attncost.batches.ways.packed import Packed
from attncost.integrations.hf.packing import packing_collator

pytest.importorskip("accelerate", reason="Trainer needs accelerate: pip install accelerate")

EPOCHS, RATE, TOGETHER = 2, 0.5, 2
LENGTHS = (3, 17, 1, 9, 30, 6, 12, 2, 25, 8, 5, 28)


def llama():
    return zoo.ZOO["llama"](num_hidden_layers=1, tie_word_embeddings=False)


@pytest.fixture
def texts(generator):
    return [torch.randint(3, 97, (length,), generator=generator).tolist() for length in LENGTHS]


def trained(folder, texts):
    """Return what `Trainer` makes of a model, and the texts of each batch that it was given."""
    model, batches = llama(), []
    model.set_attn_implementation(hf.register("attncost"))

    def note(_module, _args, given):
        sizes = given["cu_seq_lens_q"].diff().tolist()
        batches.append([text.tolist() for text in given["input_ids"][0].split(sizes)])

    collate = packing_collator(model, labels="ids")
    arguments = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=1,
        train_sampling_strategy="sequential",
        gradient_accumulation_steps=TOGETHER,
        num_train_epochs=EPOCHS,
        optim="sgd",
        learning_rate=RATE,
        lr_scheduler_type="constant",
        max_grad_norm=0.0,
        use_cpu=True,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    dataset = BatchedDataset([{"input_ids": text} for text in texts], Packed(32))
    trainer = Trainer(model, arguments, train_dataset=dataset, data_collator=collate)
    handle = model.register_forward_pre_hook(note, with_kwargs=True)
    trainer.train()
    handle.remove()
    return model, batches


def summed(model, text):
    """Return the loss of all tokens of a text that is read alone, by the model's own attention."""
    ids = torch.tensor([text])
    logits = model(input_ids=ids).logits[0]
    return nn.functional.cross_entropy(logits[:-1], ids[0, 1:], reduction="sum")


def by_hand(batches):
    """Train on the mean over the tokens of each step, text by text."""
    model = llama().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    each = len(batches) // EPOCHS
    steps = [
        [*chain(*batches[start : min(start + TOGETHER, epoch + each)])]
        for epoch in range(0, len(batches), each)
        for start in range(epoch, epoch + each, TOGETHER)
    ]
    for step in steps:
        long = [text for text in step if len(text) > 1]
        tokens = sum(len(text) - 1 for text in long)
        model.zero_grad()
        (sum(summed(model, text) for text in long) / tokens).backward()
        optimizer.step()
    return model


def test_trainer_learns_from_packed_batches_what_a_loop_over_texts_does(tmp_path, texts):
    model, batches = trained(tmp_path, texts)
    each = len(batches) // EPOCHS
    epochs = batches[:each], batches[each:]
    for epoch in epochs:
        assert sorted(chain(*epoch)) == sorted(texts)
    assert epochs[0] != epochs[1]
    assert each % TOGETHER  # so the last step of an epoch has fewer batches
    expected = dict(by_hand(batches).named_parameters())
    start = dict(llama().named_parameters())
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter, expected[name], rtol=0, atol=1e-6, msg=name)
        assert not torch.allclose(parameter, start[name], rtol=0, atol=1e-4)
