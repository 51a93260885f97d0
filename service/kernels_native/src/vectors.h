/* Vectors of the instruction set that a file is compiled for; two of them are the columns of a panel. */
#ifndef TENSORFLEET_VECTORS_H
#define TENSORFLEET_VECTORS_H

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)
#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
#define WIDTH 16
#elif defined(__AVX__)
#define WIDTH 8
#else
#define WIDTH 4
#endif
#define COLUMNS (2 * WIDTH)

typedef float vector __attribute__((vector_size(4 * WIDTH)));
typedef float anywhere __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

INLINE vector load(const float *from) { return (vector)(*(const anywhere *)from); }
INLINE void store(float *to, vector v) { *(anywhere *)to = (anywhere)v; }

#endif
