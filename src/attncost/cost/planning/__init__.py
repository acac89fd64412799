"""What a model needs on devices of a size before anything runs: what fits, how fast, what price."""

from attncost.cost.planning.devices import Device as Device
from attncost.cost.planning.devices import device as device
from attncost.cost.planning.devices import devices as devices
from attncost.cost.planning.fit import Fit as Fit
from attncost.cost.planning.fit import largest_batch as largest_batch
from attncost.cost.planning.fit import longest as longest
from attncost.cost.planning.korthikanti import activation_bytes as activation_bytes
from attncost.cost.planning.needs import Need as Need
from attncost.cost.planning.needs import needs as needs
from attncost.cost.planning.sharding import Sharding as Sharding
from attncost.cost.planning.situation import Situation as Situation
from attncost.cost.planning.speed import Rates as Rates
from attncost.cost.planning.speed import Speed as Speed
from attncost.cost.planning.speed import speed as speed
