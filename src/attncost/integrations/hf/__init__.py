"""Any pattern or mechanism in the models of Hugging Face transformers, masks and all."""

from attncost.integrations.hf.explain import ModelExplanation as ModelExplanation
from attncost.integrations.hf.explain import explain as explain
from attncost.integrations.hf.isolation import Isolation as Isolation
from attncost.integrations.hf.isolation import Leak as Leak
from attncost.integrations.hf.isolation import check_isolation as check_isolation
from attncost.integrations.hf.meter_callback import meter_callback as meter_callback
from attncost.integrations.hf.outputs import outputs as outputs
from attncost.integrations.hf.packed_pair import documents_of as documents_of
from attncost.integrations.hf.packing import PackedTexts as PackedTexts
from attncost.integrations.hf.packing import packing_collator as packing_collator
from attncost.integrations.hf.padding import padding_collator as padding_collator
from attncost.integrations.hf.register import register as register
from attncost.integrations.hf.swap import Swapped as Swapped
from attncost.integrations.hf.swap import swap as swap
