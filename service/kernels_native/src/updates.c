/* The loops of updates.h, compiled once for each instruction set: VARIANT names the table. */
#include "updates.h"

#include "arithmetic.h"

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)

/* All indices are constants, so that the registers are variables of the loop. */
#define STEP(step, to, a, b) r[to] = DO_##step(r[to], r[a], r[b]);
#define UPDATE(name, numbers, variables)                                                   \
  static void name(float *const *at, long n) {                                             \
    enum { REGISTERS_##name, count };                                                      \
    float number[numbers];                                                                 \
    float *variable[variables];                                                            \
    const float *gradient = at[0];                                                         \
    for (int k = 0; k < numbers; k++) number[k] = *at[n0 + k];                             \
    for (int k = 0; k < variables; k++) variable[k] = at[o0 + k];                          \
    INDEPENDENT for (long i = 0; i < n; i++) {                                             \
      float r[count];                                                                      \
      r[x0] = gradient[i];                                                                 \
      _Pragma("GCC unroll 8") for (int k = 0; k < numbers; k++) r[n0 + k] = number[k];     \
      _Pragma("GCC unroll 8") for (int k = 0; k < variables; k++) r[o0 + k] = variable[k][i]; \
      STEPS_##name(STEP)                                                                   \
      _Pragma("GCC unroll 8") for (int k = 0; k < variables; k++) variable[k][i] = r[o0 + k]; \
    }                                                                                      \
  }
UPDATES(UPDATE)

#define NAME(name, numbers, variables) name,
const update_function CONCAT(updates_, VARIANT)[UPDATE_COUNT] = {UPDATES(NAME)};
