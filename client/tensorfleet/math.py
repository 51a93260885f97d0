"""`tf.math`: arithmetic, reductions, segments, special functions."""

import typing as _typing

from tensorfleet.ops.array.rearranging import invert_permutation as invert_permutation
from tensorfleet.ops.array.selection import in_top_k as in_top_k, top_k as top_k
from tensorfleet.ops.debugging.checks import (
    is_non_decreasing as is_non_decreasing,
    is_strictly_increasing as is_strictly_increasing,
)
from tensorfleet.ops.math.add_n import accumulate_n as accumulate_n, add_n as add_n
from tensorfleet.ops.math.arithmetic import (
    add as add,
    divide as divide,
    divide_no_nan as divide_no_nan,
    floordiv as floordiv,
    floormod as floormod,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    multiply as multiply,
    multiply_no_nan as multiply_no_nan,
    nextafter as nextafter,
    pow as pow,
    scalar_mul as scalar_mul,
    squared_difference as squared_difference,
    subtract as subtract,
    truediv as truediv,
    xdivy as xdivy,
    xlog1py as xlog1py,
    xlogy as xlogy,
)
from tensorfleet.ops.math.bessel import (
    bessel_i0 as bessel_i0,
    bessel_i0e as bessel_i0e,
    bessel_i1 as bessel_i1,
    bessel_i1e as bessel_i1e,
    betainc as betainc,
    igamma as igamma,
    igammac as igammac,
)
from tensorfleet.ops.math.comparison import (
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    not_equal as not_equal,
)
from tensorfleet.ops.math.complex_numbers import angle as angle, conj as conj, imag as imag, real as real
from tensorfleet.ops.math.counting import (
    bincount as bincount,
)
from tensorfleet.ops.math.elementwise import (
    abs as abs,
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    ceil as ceil,
    cos as cos,
    cosh as cosh,
    exp as exp,
    expm1 as expm1,
    floor as floor,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    log as log,
    log1p as log1p,
    log_sigmoid as log_sigmoid,
    negative as negative,
    reciprocal as reciprocal,
    reciprocal_no_nan as reciprocal_no_nan,
    rint as rint,
    round as round,
    rsqrt as rsqrt,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    tan as tan,
    tanh as tanh,
)
from tensorfleet.ops.math.extrema import argmax as argmax, argmin as argmin
from tensorfleet.ops.math.reduction import (
    count_nonzero as count_nonzero,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_euclidean_norm as reduce_euclidean_norm,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_std as reduce_std,
    reduce_sum as reduce_sum,
    reduce_variance as reduce_variance,
)
from tensorfleet.ops.math.scan import (
    cumprod as cumprod,
    cumsum as cumsum,
    cumulative_logsumexp as cumulative_logsumexp,
)
from tensorfleet.ops.math.segment import (
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
    unsorted_segment_max as unsorted_segment_max,
    unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_min as unsorted_segment_min,
    unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
    unsorted_segment_sum as unsorted_segment_sum,
)
from tensorfleet.ops.math.special import (
    digamma as digamma,
    erf as erf,
    erfc as erfc,
    erfcinv as erfcinv,
    erfinv as erfinv,
    lgamma as lgamma,
    ndtri as ndtri,
    polygamma as polygamma,
    zeta as zeta,
)
from tensorfleet.ops.math.vectors import (
    lbeta as lbeta,
    polyval as polyval,
)
from tensorfleet.ops.nn.activation import (
    log_softmax as log_softmax,
    softmax as softmax,
    softplus as softplus,
    softsign as softsign,
)
from tensorfleet.ops.nn.confusion import confusion_matrix as confusion_matrix
from tensorfleet.ops.nn.layers import zero_fraction as zero_fraction
from tensorfleet.ops.nn.norm import l2_normalize as l2_normalize

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
