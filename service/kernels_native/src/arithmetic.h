/* The steps that are arithmetic alone, each part rounded by itself, and what tells compilers of loops without dependencies. */
#ifndef TENSORFLEET_ARITHMETIC_H
#define TENSORFLEET_ARITHMETIC_H

#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define DO_ADD(to, a, b) ((a) + (b))
#define DO_SUBTRACT(to, a, b) ((a) - (b))
#define DO_MULTIPLY(to, a, b) ((a) * (b))
#define DO_DIVIDE(to, a, b) ((a) / (b))
#define DO_SQRT(to, a, b) __builtin_sqrtf(a)
#define DO_MOVE(to, a, b) ((to) + ((a) - (to)) * (b))
#define DO_ADD_PRODUCT(to, a, b) ((to) + (a) * (b))
#define DO_SUBTRACT_PRODUCT(to, a, b) ((to) - (a) * (b))
#define DO_SUBTRACT_QUOTIENT(to, a, b) ((to) - (a) / (b))
#define DO_ADD_TO_ROOT(to, a, b) (__builtin_sqrtf(a) + (b))

#endif
