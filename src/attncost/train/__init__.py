"""Training that stays stable, tasks to train on, and what cheaper attention costs in quality."""

from attncost.train.loop import Trained as Trained
from attncost.train.loop import evaluate as evaluate
from attncost.train.loop import train as train
from attncost.train.recipe import Recipe as Recipe
from attncost.train.recipe import optimizer as optimizer
from attncost.train.tasks import task as task
from attncost.train.tasks.interface import Batch as Batch
from attncost.train.tasks.interface import Task as Task
from attncost.train.telemetry import LayerRow as LayerRow
from attncost.train.telemetry import Row as Row
from attncost.train.transformer import Sizes as Sizes
from attncost.train.transformer import Transformer as Transformer
