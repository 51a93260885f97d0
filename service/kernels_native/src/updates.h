/* Optimizers' updates in one pass: rows of steps, as the service records them of its rules, that are computed with all
 * registers in the processor's. A row that is not here goes through its steps one by one, with the same results. */
#ifndef TENSORFLEET_UPDATES_H
#define TENSORFLEET_UPDATES_H

#include <stdint.h>

#include "kernels.h"

/* The registers of a row: the gradient x0, numbers n0, n1, …, the variables o0, o1, …, and temporaries t0, t1, …;
 * STEPS(S) has S(step, to, a, b) for each step. UPDATES(U) has U(name, numbers, variables). */
#define UPDATES(U) \
  U(adam, 4, 3) U(adam_nesterov, 6, 3) U(momentum, 2, 2) U(momentum_nesterov, 3, 2) U(adagrad, 1, 2) U(adagrad_v2, 2, 2) \
  U(rms_prop, 4, 3)

#define REGISTERS_adam x0, n0, n1, n2, n3, o0, o1, o2, t0, t1
#define STEPS_adam(S) \
  S(MOVE, o1, x0, n0) S(MULTIPLY, t0, x0, x0) S(MOVE, o2, t0, n1) S(ADD_TO_ROOT, t0, o2, n2) \
  S(MULTIPLY, t1, o1, n3) S(SUBTRACT_QUOTIENT, o0, t1, t0)

#define REGISTERS_adam_nesterov x0, n0, n1, n2, n3, n4, n5, o0, o1, o2, t0, t1
#define STEPS_adam_nesterov(S) \
  S(MOVE, o1, x0, n0) S(MULTIPLY, t0, x0, x0) S(MOVE, o2, t0, n1) S(ADD_TO_ROOT, t0, o2, n2) \
  S(MULTIPLY, t1, o1, n3) S(ADD_PRODUCT, t1, x0, n4) S(MULTIPLY, t1, t1, n5) S(SUBTRACT_QUOTIENT, o0, t1, t0)

#define REGISTERS_momentum x0, n0, n1, o0, o1
#define STEPS_momentum(S) S(MULTIPLY, o1, o1, n0) S(ADD, o1, o1, x0) S(SUBTRACT_PRODUCT, o0, o1, n1)

#define REGISTERS_momentum_nesterov x0, n0, n1, n2, o0, o1
#define STEPS_momentum_nesterov(S) \
  S(MULTIPLY, o1, o1, n0) S(ADD, o1, o1, x0) S(SUBTRACT_PRODUCT, o0, x0, n1) S(SUBTRACT_PRODUCT, o0, o1, n2)

#define REGISTERS_adagrad x0, n0, o0, o1, t0, t1
#define STEPS_adagrad(S) \
  S(ADD_PRODUCT, o1, x0, x0) S(SQRT, t0, o1, o1) S(MULTIPLY, t1, x0, n0) S(SUBTRACT_QUOTIENT, o0, t1, t0)

#define REGISTERS_adagrad_v2 x0, n0, n1, o0, o1, t0, t1
#define STEPS_adagrad_v2(S) \
  S(ADD_PRODUCT, o1, x0, x0) S(ADD_TO_ROOT, t0, o1, n0) S(MULTIPLY, t1, x0, n1) S(SUBTRACT_QUOTIENT, o0, t1, t0)

#define REGISTERS_rms_prop x0, n0, n1, n2, n3, o0, o1, o2, t0, t1
#define STEPS_rms_prop(S) \
  S(MULTIPLY, t0, x0, x0) S(MOVE, o1, t0, n0) S(ADD, t0, o1, n1) S(SQRT, t0, t0, t0) S(MULTIPLY, t1, x0, n2) \
  S(DIVIDE, t1, t1, t0) S(MULTIPLY, o2, o2, n3) S(ADD, o2, o2, t1) S(SUBTRACT, o0, o0, o2)

#define NAME_UPDATE(name, numbers, variables) UPDATE_##name,
enum update { UPDATES(NAME_UPDATE) UPDATE_COUNT };
#undef NAME_UPDATE

/* `at` has the gradient, the numbers and the variables, which are apart from each other. */
typedef void (*update_function)(float *const *at, long n);

extern const update_function updates_base[UPDATE_COUNT];
#ifdef X86_VARIANTS
extern const update_function updates_avx2[UPDATE_COUNT], updates_avx512[UPDATE_COUNT];
#endif
/* Those of the best instruction set that the processor has. */
extern const update_function *updates;

#endif
