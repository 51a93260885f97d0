"""Control flow and tensor arrays have no gradients yet: `tf.gradients` through them says so."""

from __future__ import annotations

from tensorfleet.gradient_registry import no_rule, not_differentiable

no_rule("Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit")
no_rule("NextIteration", "RefNextIteration")
no_rule("TensorArrayConcatV3", "TensorArrayGatherV3", "TensorArrayReadV3", "TensorArrayScatterV3")
no_rule("TensorArraySplitV3", "TensorArrayWriteV3")
not_differentiable("LoopCond", "TensorArrayV3", "TensorArraySizeV3", "TensorArrayCloseV3")
