"""Writes docs/missing.md, the names and methods of TensorFlow 1.x that TensorFleet lacks.

python docs/generate_missing.py            writes the page
python docs/generate_missing.py --check    exits with 1 if the page is not what this would write
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import tensorfleet
from tensorfleet import contrib, keras
from tensorfleet.core.public import missing_names

# The namespaces of TensorFlow 1.15's contrib.
CONTRIB = """
    all_reduce autograph batching bayesflow bigtable boosted_trees checkpoint cloud cluster_resolver
    coder compiler constrained_optimization copy_graph crf cudnn_rnn data decision_trees deprecated
    distribute distributions eager estimator factorization feature_column ffmpeg framework
    fused_conv gan graph_editor grid_rnn hadoop hooks image input_pipeline integrate keras
    kernel_methods labeled_tensor layers learn legacy_seq2seq libsvm linalg linear_optimizer lite
    lookup losses memory_stats metrics mixed_precision model_pruning nccl nearest_neighbor nn opt
    optimizer_v2 periodic_resample predictor proto quantization quantize recurrent reduce_slice_ops
    remote_fused_graph resampler rnn rpc saved_model seq2seq session_bundle signal slim solvers
    sparsemax specs staging stat_summarizer stateless summary tensor_forest tensorboard tensorrt
    testing text tfprof timeseries tpu training util
"""

# The names of TensorFlow 1.15's tf.keras by their namespaces.
KERAS = {
    "": (
        "Input Model Sequential activations applications backend callbacks constraints datasets estimator "
        "experimental initializers layers losses metrics mixed_precision models optimizers preprocessing "
        "regularizers utils wrappers"
    ),
    "activations": (
        "deserialize elu exponential get hard_sigmoid linear relu selu serialize sigmoid softmax softplus "
        "softsign tanh"
    ),
    "backend": """
        abs all any arange argmax argmin backend batch_dot batch_flatten batch_get_value batch_normalization
        batch_set_value bias_add binary_crossentropy cast cast_to_floatx categorical_crossentropy
        clear_session clip concatenate constant conv1d conv2d conv2d_transpose conv3d cos count_params
        ctc_batch_cost ctc_decode ctc_label_dense_to_sparse cumprod cumsum depthwise_conv2d dot dropout dtype
        elu epsilon equal eval exp expand_dims eye flatten floatx foldl foldr function gather get_session
        get_uid get_value gradients greater greater_equal hard_sigmoid image_data_format in_test_phase
        in_top_k in_train_phase int_shape is_keras_tensor is_sparse l2_normalize learning_phase
        learning_phase_scope less less_equal local_conv1d local_conv2d log manual_variable_initialization
        map_fn max maximum mean min minimum moving_average_update name_scope ndim
        normalize_batch_in_training not_equal one_hot ones ones_like permute_dimensions placeholder pool2d
        pool3d pow print_tensor prod random_binomial random_normal random_normal_variable random_uniform
        random_uniform_variable relu repeat repeat_elements reset_uids reshape resize_images resize_volumes
        reverse rnn round separable_conv2d set_epsilon set_floatx set_image_data_format set_learning_phase
        set_session set_value shape sigmoid sign sin softmax softplus softsign
        sparse_categorical_crossentropy spatial_2d_padding spatial_3d_padding sqrt square squeeze stack std
        stop_gradient sum switch tanh temporal_padding tile to_dense transpose truncated_normal update
        update_add update_sub var variable zeros zeros_like
    """,
    "callbacks": """
        BaseLogger CSVLogger Callback EarlyStopping History LambdaCallback LearningRateScheduler
        ModelCheckpoint ProgbarLogger ReduceLROnPlateau RemoteMonitor TensorBoard TerminateOnNaN
    """,
    "constraints": """
        Constraint MaxNorm MinMaxNorm NonNeg RadialConstraint UnitNorm deserialize get max_norm min_max_norm
        non_neg radial_constraint serialize unit_norm
    """,
    "datasets": "boston_housing cifar10 cifar100 fashion_mnist imdb mnist reuters",
    "estimator": "model_to_estimator",
    "initializers": """
        Constant Identity Initializer Ones Orthogonal RandomNormal RandomUniform TruncatedNormal
        VarianceScaling Zeros constant deserialize get glorot_normal glorot_uniform he_normal he_uniform
        identity lecun_normal lecun_uniform normal ones orthogonal random_normal random_uniform serialize
        truncated_normal uniform zeros
    """,
    "layers": """
        AbstractRNNCell Activation ActivityRegularization Add AdditiveAttention AlphaDropout Attention Average
        AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D AvgPool2D AvgPool3D BatchNormalization
        Bidirectional Concatenate Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM2D
        Convolution1D Convolution2D Convolution2DTranspose Convolution3D Convolution3DTranspose Cropping1D
        Cropping2D Cropping3D CuDNNGRU CuDNNLSTM Dense DenseFeatures DepthwiseConv2D Dot Dropout ELU Embedding
        Flatten GRU GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D
        GlobalAveragePooling3D GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D
        GlobalMaxPool3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D Input InputLayer InputSpec
        LSTM LSTMCell Lambda Layer LayerNormalization LeakyReLU LocallyConnected1D LocallyConnected2D Masking
        MaxPool1D MaxPool2D MaxPool3D MaxPooling1D MaxPooling2D MaxPooling3D Maximum Minimum Multiply PReLU
        Permute RNN ReLU RepeatVector Reshape SeparableConv1D SeparableConv2D SeparableConvolution1D
        SeparableConvolution2D SimpleRNN SimpleRNNCell Softmax SpatialDropout1D SpatialDropout2D
        SpatialDropout3D StackedRNNCells Subtract ThresholdedReLU TimeDistributed UpSampling1D UpSampling2D
        UpSampling3D Wrapper ZeroPadding1D ZeroPadding2D ZeroPadding3D add average concatenate deserialize dot
        experimental maximum minimum multiply serialize subtract
    """,
    "losses": """
        BinaryCrossentropy CategoricalCrossentropy CategoricalHinge CosineSimilarity Hinge Huber KLD
        KLDivergence LogCosh Loss MAE MAPE MSE MSLE MeanAbsoluteError MeanAbsolutePercentageError
        MeanSquaredError MeanSquaredLogarithmicError Poisson SparseCategoricalCrossentropy SquaredHinge
        binary_crossentropy categorical_crossentropy categorical_hinge cosine cosine_proximity
        cosine_similarity deserialize get hinge kld kullback_leibler_divergence logcosh mae mape
        mean_absolute_error mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error
        mse msle poisson serialize sparse_categorical_crossentropy squared_hinge
    """,
    "metrics": """
        AUC Accuracy BinaryAccuracy BinaryCrossentropy CategoricalAccuracy CategoricalCrossentropy
        CategoricalHinge CosineSimilarity FalseNegatives FalsePositives Hinge KLD KLDivergence LogCoshError
        MAE MAPE MSE MSLE Mean MeanAbsoluteError MeanAbsolutePercentageError MeanIoU MeanRelativeError
        MeanSquaredError MeanSquaredLogarithmicError MeanTensor Metric Poisson Precision Recall
        RootMeanSquaredError SensitivityAtSpecificity SparseCategoricalAccuracy
        SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy SpecificityAtSensitivity SquaredHinge Sum
        TopKCategoricalAccuracy TrueNegatives TruePositives binary_accuracy binary_crossentropy
        categorical_accuracy categorical_crossentropy cosine cosine_proximity deserialize get hinge kld
        kullback_leibler_divergence mae mape mean_absolute_error mean_absolute_percentage_error
        mean_squared_error mean_squared_logarithmic_error mse msle poisson serialize
        sparse_categorical_accuracy sparse_categorical_crossentropy sparse_top_k_categorical_accuracy
        squared_hinge top_k_categorical_accuracy
    """,
    "models": """
        Model Sequential clone_model load_model model_from_config model_from_json model_from_yaml save_model
    """,
    "optimizers": """
        Adadelta Adagrad Adam Adamax Ftrl Nadam Optimizer RMSprop SGD deserialize get schedules serialize
    """,
    "optimizers.schedules": """
        ExponentialDecay InverseTimeDecay LearningRateSchedule PiecewiseConstantDecay PolynomialDecay
        deserialize serialize
    """,
    "preprocessing": "image sequence text",
    "preprocessing.image": """
        DirectoryIterator ImageDataGenerator Iterator NumpyArrayIterator apply_affine_transform
        apply_brightness_shift apply_channel_shift array_to_img img_to_array load_img random_brightness
        random_channel_shift random_rotation random_shear random_shift random_zoom save_img
    """,
    "preprocessing.sequence": "TimeseriesGenerator make_sampling_table pad_sequences skipgrams",
    "preprocessing.text": """
        Tokenizer hashing_trick one_hot text_to_word_sequence tokenizer_from_json
    """,
    "regularizers": "L1L2 Regularizer deserialize get l1 l1_l2 l2 serialize",
    "utils": """
        CustomObjectScope GeneratorEnqueuer HDF5Matrix OrderedEnqueuer Progbar Sequence SequenceEnqueuer
        convert_all_kernels_in_model custom_object_scope deserialize_keras_object get_custom_objects get_file
        get_registered_name get_registered_object get_source_inputs model_to_dot multi_gpu_model normalize
        plot_model register_keras_serializable serialize_keras_object to_categorical
    """,
}

# The names that TensorFlow 1.15 has outside of tf.contrib and tf.keras, and TensorFlow 2.21 no longer has.
OLDER = """
    config.experimental_list_devices data.experimental.CheckpointInputPipelineHook
    data.experimental.MapVectorizationOptions data.experimental.StatsAggregator
    data.experimental.StatsOptions data.experimental.bytes_produced_stats data.experimental.latency_stats
    estimator.BoostedTreesClassifier estimator.BoostedTreesEstimator estimator.BoostedTreesRegressor
    estimator.experimental.KMeans estimator.experimental.LinearSDCA estimator.tpu.experimental
    layers.experimental pywrap_tensorflow
"""

# Why names are missing that are not just still to be written.
REASONS = {
    "eager mode, tracing and functions of TensorFlow 2": (
        "wrap_function types experimental nondifferentiable_batch_function autograph.experimental "
        "autograph.set_verbosity autograph.to_code autograph.trace "
        "test.with_eager_op_as_function train.experimental saved_model.save saved_model.load_v2 "
        "saved_model.SaveOptions saved_model.Asset saved_model.experimental"
    ),
    "other compilers, runtimes and formats of models": (
        "xla tpu mlir lite quantization.experimental train.do_quantize_training_on_graphdef"
    ),
    "mixed precision, which is for accelerators of TensorFlow's own": "mixed_precision",
    "services of other clouds and schedulers": (
        "distribute.cluster_resolver.GCEClusterResolver distribute.cluster_resolver.SlurmClusterResolver "
        "distribute.cluster_resolver.TPUClusterResolver"
    ),
    "services and profiles of TensorFlow's own runtime": (
        "data.experimental.service data.experimental.distributed_save data.experimental.get_model_proto "
        "profiler.OpLogProto profiler.write_op_log check_pinned "
        "debugging.experimental"
    ),
    "tables that neither Python nor NumPy has: the scripts of characters, directions of Sobol's sequences": (
        "strings.unicode_script math.sobol_sample"
    ),
    "kernels for accelerators alone": (
        "approx_top_k math.approx_max_k math.approx_min_k nn.approx_max_k nn.approx_min_k "
        "image.generate_bounding_box_proposals"
    ),
    "libraries of file formats that the service does not have": (
        "LMDBReader image.decode_webp image.decode_jxl io.decode_webp io.decode_jxl"
    ),
}

# Why namespaces of contrib are missing.
CONTRIB_REASONS = {
    "other compilers, runtimes, devices and formats of models": "lite tensorrt fused_conv remote_fused_graph",
    "eager mode, tracing, and the optimizers made for them": "autograph eager optimizer_v2",
    "services of other clouds, and ways between processes": "bigtable cloud rpc batching hadoop",
    "models on kernels of their own, which the service does not have": (
        "boosted_trees decision_trees tensor_forest coder ffmpeg nearest_neighbor linear_optimizer"
    ),
    "libraries that went on as packages of their own: TensorFlow Probability, TFX": (
        "bayesflow constrained_optimization kernel_methods timeseries labeled_tensor"
    ),
}

PAGE = Path(__file__).parent / "missing.md"
METHODS = Path(__file__).parent.parent / "tests/compat/missing_methods.txt"

HEAD = """# Names that TensorFleet lacks

The {count} names of TensorFlow 1.x's API (`tensorflow.compat.v1` of TensorFlow 2.21) that are not part of
TensorFleet. A program that uses one gets an AttributeError that says so. A namespace that is missing as a
whole has one entry, among the names of the namespace that it is in.

Made by `python docs/generate_missing.py` from
[missing_names.txt](../client/tensorfleet/core/missing_names.txt) and
[missing_methods.txt](../tests/compat/missing_methods.txt), which tests/compat compares with TensorFlow.
"""


def main() -> int:
    text = page()
    if "--check" in sys.argv:
        if PAGE.exists() and PAGE.read_text() == text:
            return 0
        print("docs/missing.md is not current: run python docs/generate_missing.py")
        return 1
    PAGE.write_text(text)
    return 0


def page() -> str:
    namespaces = defaultdict(list)
    for name in sorted(missing_names()):
        namespace, _, last = name.rpartition(".")
        namespaces[namespace].append(last)
    parts = [HEAD.format(count=len(missing_names()))]
    for namespace, names in sorted(namespaces.items()):
        title = f"tf.{namespace}" if namespace else "tf"
        parts.append(f"## {title}\n\n{', '.join(f'`{name}`' for name in names)}\n")
    known = missing_names()
    why = [
        f"* {reason}: {', '.join(f'`{name}`' for name in sorted(listed))}\n"
        for reason, text in REASONS.items()
        if (listed := [name for name in text.split() if name in known])
    ]
    parts.append(f"## Why\n\nThese are not meant to come, as they belong to:\n\n{''.join(why)}")
    older = ", ".join(f"`{name}`" for name in OLDER.split() if not _has(name))
    parts.append(
        "## Names of TensorFlow 1.15 alone\n\nThese are missing, too; TensorFlow 2.21 no longer has them, "
        f"so that they are not among those counted above.\n\n{older}\n"
    )
    parts.append(
        "## tf.raw_ops\n\n[missing_ops.txt](missing_ops.txt) lists the op types that are missing, by why; "
        "[ops.md](ops.md) those that are there.\n"
    )
    absent = [name for name in CONTRIB.split() if name not in dir(contrib)]
    listed = ", ".join(f"`{name}`" for name in absent)
    parts.append(
        "## tf.contrib\n\nThese namespaces of TensorFlow 1.15's contrib are missing as a whole; of the "
        "others the names that many programs use are there, and `tensorfleet doctor` tells which of a "
        f"program's are not.\n\n{listed}\n\nOf these, some are not meant to come, as they belong to:\n\n"
        + "".join(
            f"* {reason}: {', '.join(f'`{name}`' for name in sorted(names))}\n"
            for reason, text in CONTRIB_REASONS.items()
            if (names := [name for name in text.split() if name in absent])
        )
    )
    parts.append(
        "## tf.keras\n\nThese names of TensorFlow 1.15's tf.keras are missing, whose subset "
        f"[keras.md](keras.md) describes; they are not among those counted above.\n\n{_keras()}\n"
    )
    methods = METHODS.read_text().split()
    listed = ", ".join(f"`{name}`" for name in methods)
    parts.append(
        f"## Methods\n\nThese {len(methods)} methods and properties are missing of classes that are there; "
        f"those of a base class are listed there only.\n\n{listed}\n"
    )
    return "\n".join(parts)


def _has(name: str) -> bool:
    place: object = tensorfleet
    for part in name.split("."):
        if not hasattr(place, part):
            return False
        place = getattr(place, part)
    return True


def _keras() -> str:
    """The missing names of tf.keras, a line for each namespace."""
    lines = []
    for namespace, text in KERAS.items():
        place: object = keras
        for part in namespace.split(".") if namespace else ():
            place = getattr(place, part)
        if absent := [name for name in text.split() if not hasattr(place, name)]:
            title = f"tf.keras.{namespace}" if namespace else "tf.keras"
            lines.append(f"* {title}: {', '.join(f'`{name}`' for name in absent)}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
