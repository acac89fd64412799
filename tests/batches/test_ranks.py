"""Two processes that share texts learn from them what one process would."""

import json
import subprocess
import sys
from random import Random

import pytest
import torch
from tests.batches.small import gradients, logits, made
from tests.docs.pages import ROOT
from torch import nn

from attncost.batches.loss import counted_tokens, token_loss
from attncost.batches.packing_collator import PackingCollator

pytestmark = pytest.mark.slow

EPOCHS = 2
CHANCE = Random(0)
TEXTS = [[CHANCE.randrange(30) for _ in range(CHANCE.randrange(20))] for _ in range(23)]
# Of a rank: its micro-batches, in one of which nothing counts.
UNEQUAL = [[[[5, 6, 7, 8, 9, 3, 4], [2, 3]], [[1]]], [[[9, 9, 1]], [[6, 5, 4, 3], [1, 2], []]]]

# One process imports everything and forks, since importing takes most of the time.
CODE = """
import json
import sys
from contextlib import nullcontext
from datetime import timedelta

import torch
from tests.batches import small
from torch import distributed, nn
from torch.multiprocessing import start_processes
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from attncost.batches.loss import across_ranks, counted_tokens, token_loss
from attncost.batches.packing_collator import PackingCollator
from attncost.batches.sampler import BatchSampler
from attncost.batches.ways.packed import Packed

torch.set_num_threads(1)
folder, (texts, unequal, epochs) = sys.argv[1], json.loads(sys.argv[2])
collate = PackingCollator(labels="ids")


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = small.made()

    def forward(self, batch):
        return small.logits(self.parts, batch)


class Bigrams(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.said = nn.Embedding(30, 30, dtype=torch.float64)

    def forward(self, batch):
        return self.said(batch["input_ids"])


whole, bigrams = Whole(), Bigrams()
# It is made before the processes know of each other.
sampler = BatchSampler([len(text) for text in texts], Packed(40))


def gradients(model, batches, tokens):
    model.zero_grad()
    for number, batch in enumerate(batches, 1):
        with nullcontext() if number == len(batches) else model.no_sync():
            token_loss(model(batch), batch["labels"], tokens=tokens).backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


def told(rank):
    model = DistributedDataParallel(whole)
    batches = [collate(some) for some in unequal[rank]]
    tokens = across_ranks(sum(counted_tokens(batch["labels"]) for batch in batches))
    yield "unequal", {"tokens": tokens, "gradients": gradients(model, batches, tokens)}
    model = DistributedDataParallel(bigrams)
    loader = DataLoader(texts, batch_sampler=sampler, collate_fn=collate)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        given = list(sampler)
        labels = collate([texts[text] for batch in given for text in batch])["labels"]
        tokens = across_ranks(counted_tokens(labels))
        yield epoch, {"given": given, "gradients": gradients(model, list(loader), tokens)}


def train(rank):
    place = f"file://{folder}/store"
    distributed.init_process_group(
        "gloo", init_method=place, rank=rank, world_size=2, timeout=timedelta(seconds=60)
    )
    torch.save(dict(told(rank)), f"{folder}/{rank}.pt")
    distributed.destroy_process_group()


start_processes(train, nprocs=2, start_method="fork")
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return what each rank was given and learned."""
    folder = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, "-c", CODE, str(folder), json.dumps([TEXTS, UNEQUAL, EPOCHS])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [torch.load(folder / f"{rank}.pt") for rank in range(2)]


def test_both_have_half_of_the_batches_and_the_gradient_of_an_epoch_is_that_of_all_texts(told):
    whole = PackingCollator(labels="ids")(TEXTS)
    torch.manual_seed(0)
    model = nn.Embedding(30, 30, dtype=torch.float64)
    tokens = counted_tokens(whole["labels"])
    token_loss(model(whole["input_ids"]), whole["labels"], tokens=tokens).backward()
    orders = []
    for epoch in range(EPOCHS):
        given = [of_rank[epoch]["given"] for of_rank in told]
        assert len(given[0]) == len(given[1]) > 1
        order = [text for batches in given for batch in batches for text in batch]
        assert sorted(order) == list(range(len(TEXTS)))
        orders.append(order)
        for of_rank in told:
            (found,) = of_rank[epoch]["gradients"]
            torch.testing.assert_close(found, model.weight.grad, atol=1e-12, rtol=0)
    assert orders[0] != orders[1]


def test_averaged_gradients_of_ranks_with_unequal_texts_are_those_of_all_texts(told):
    texts = [text for of_rank in UNEQUAL for micro_batch in of_rank for text in micro_batch]
    batch = PackingCollator(labels="ids")(texts)
    tokens, model = counted_tokens(batch["labels"]), made()
    wanted = gradients(model, token_loss(logits(model, batch), batch["labels"], tokens=tokens))
    for of_rank in told:
        found = of_rank["unequal"]
        assert found["tokens"] == tokens / 2
        torch.testing.assert_close(found["gradients"], list(wanted), atol=1e-6, rtol=0)
