"""`tf.contrib.learn.preprocessing`: texts as rows of numbers."""

from tensorfleet.contrib.vocabulary_processor import (
    ByteProcessor as ByteProcessor,
    CategoricalVocabulary as CategoricalVocabulary,
    VocabularyProcessor as VocabularyProcessor,
    tokenizer as tokenizer,
)

__all__ = ["ByteProcessor", "CategoricalVocabulary", "VocabularyProcessor", "tokenizer"]
