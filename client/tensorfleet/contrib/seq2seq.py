"""`tf.contrib.seq2seq`: decoders, attention, the loss of sequences."""

import typing as _typing

from tensorfleet.contrib.attention import (
    AttentionMechanism as AttentionMechanism,
    AttentionWrapper as AttentionWrapper,
    AttentionWrapperState as AttentionWrapperState,
    BahdanauAttention as BahdanauAttention,
    LuongAttention as LuongAttention,
    hardmax as hardmax,
)
from tensorfleet.contrib.beam_search import (
    BeamSearchDecoder as BeamSearchDecoder,
    BeamSearchDecoderOutput as BeamSearchDecoderOutput,
    BeamSearchDecoderState as BeamSearchDecoderState,
    FinalBeamSearchDecoderOutput as FinalBeamSearchDecoderOutput,
    gather_tree as gather_tree,
    gather_tree_from_array as gather_tree_from_array,
)
from tensorfleet.contrib.decoder_helpers import (
    CustomHelper as CustomHelper,
    GreedyEmbeddingHelper as GreedyEmbeddingHelper,
    Helper as Helper,
    SampleEmbeddingHelper as SampleEmbeddingHelper,
    TrainingHelper as TrainingHelper,
)
from tensorfleet.contrib.decoders import (
    BasicDecoder as BasicDecoder,
    BasicDecoderOutput as BasicDecoderOutput,
    Decoder as Decoder,
    dynamic_decode as dynamic_decode,
    tile_batch as tile_batch,
)
from tensorfleet.contrib.monotonic_attention import (
    BahdanauMonotonicAttention as BahdanauMonotonicAttention,
    LuongMonotonicAttention as LuongMonotonicAttention,
    monotonic_attention as monotonic_attention,
    safe_cumprod as safe_cumprod,
)
from tensorfleet.contrib.scheduled_helpers import (
    InferenceHelper as InferenceHelper,
    ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper,
    ScheduledOutputTrainingHelper as ScheduledOutputTrainingHelper,
)
from tensorfleet.contrib.sequences import sequence_loss as sequence_loss

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
