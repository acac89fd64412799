"""One attention that is tried in a model, and the sums of what it changes, batch by batch."""

from typing import final

from attncost.core.errors import AttnCostError, ShapeError, UnsupportedOption
from attncost.integrations.hf.layers import attention_layers
from attncost.mechanisms.interface import Mechanism
from attncost.mechanisms.spelling import spelling
from attncost.train.quality.models.in_place import in_place
from attncost.train.quality.models.layer_reads import LayerReads, pairs_of
from attncost.train.quality.models.outputs import Attention, Changes, run
from attncost.train.quality.models.own_answers import Batch
from attncost.train.quality.models.reading import Reading
from attncost.train.quality.models.results import Alone, Swapped
from attncost.view.prices.pieces import within
from attncost.view.prices.swapping import choice_of


@final
class Attempt:
    """One attention in one model.

    Attributes:
        attention: What is swapped in.
        refused: Why it cannot be; None as long as it can.
        changes: What it changes in all layers.
        reads: What it reads, and executes.
    """

    def __init__(self, reading: Reading, attention: Attention) -> None:
        self.attention = attention
        self.refused: AttnCostError | None = None
        self.changes, self.reads = Changes(reading), LayerReads(attention)
        self._reading = reading
        self._served = attention_layers(reading.model).keys()
        self._alone: dict[str, Changes] = {}

    def read(self, batch: Batch, *, alone: bool) -> None:
        """Read some texts; `alone` swaps into one layer at a time, too."""
        if self.refused is not None:
            return
        try:
            with in_place(self._reading, self.attention):
                now = run(self._reading, batch.ids)
        except (UnsupportedOption, ShapeError) as error:
            self.refused = error
            return
        self.changes.add(batch.numbers, batch.ids, batch.own, now)
        for name, calls in batch.calls.items():
            for seen, answer in calls:
                if name in self._served:
                    self.reads.add(seen, answer)
                else:
                    self.reads.leave(seen)
        if alone:
            self._read_alone(batch)

    def _read_alone(self, batch: Batch) -> None:
        for name in batch.calls:
            if name in self._served:
                changes = self._alone.setdefault(name, Changes(self._reading))
                chosen = choice_of(self._reading.model, name)
                with in_place(self._reading, self.attention, chosen):
                    now = run(self._reading, batch.ids)
                changes.add(batch.numbers, batch.ids, batch.own, now)

    def foreseen(self, batch: Batch) -> int:
        """Return the pairs that it would read of some texts; 0 for a mechanism."""
        other = self.attention
        if isinstance(other, Mechanism):
            return 0
        return sum(
            pairs_of(seen, within(seen, other))
            for calls in batch.calls.values()
            for seen, _ in calls
        )

    def swapped(self, outside: float) -> Swapped:
        """Return what it changed, beside so many FLOPs outside attention."""
        own, executed = self.reads.own, self.reads.executed
        return Swapped(
            attention=spelling(self.attention),
            kind=type(self.attention).__module__.rpartition(".")[2],
            untrained=isinstance(self.attention, Mechanism),
            pairs_share=(
                None
                if isinstance(self.attention, Mechanism)
                else self.reads.pairs / self.reads.own_pairs
            ),
            attention_share=executed / own,
            model_share=(executed + outside) / (own + outside),
            blocks=self.changes.by_block,
            layers=self.reads.layers,
            vectors=self.changes.vectors,
            tokens=self.changes.tokens,
        )

    @property
    def alone(self) -> tuple[Alone, ...]:
        """What it changed in one layer at a time."""
        return tuple(
            Alone(
                name=name,
                moved=changes.by_block[-1],
                vectors=changes.vectors,
                tokens=changes.tokens,
            )
            for name, changes in self._alone.items()
        )
