/* Groups of elementwise steps: rows of instructions that all elements go through, some at a time. */
#include "groups.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "pool.h"
#include "updates.h"

#define MOST_TEMPORARIES 32
#define PIECE 512 /* elements that go through all steps at a time: a dozen of them leave room in the first cache */
#define LINE 64   /* bytes of a line of the cache: loads and stores of whole vectors that lie in two take twice as long */
#define MOST_INSTRUCTIONS 512

enum form { NUMBER, ROW, COLUMN, FULL, OUTPUT, UPDATED, FORM_COUNT };

struct instruction {
  int32_t step, to, a, b;
};

struct group {
  const struct instruction *code;
  long instructions;
  float *operands[MOST_ARRAYS];
  float numbers[MOST_ARRAYS];
  char forms[MOST_ARRAYS];
  long operand_count, temporaries;
  long width; /* of a row; 1 where all operands are full */
  update_function update; /* where the group is one */
  int failed;
};

/* How many elements from `begin` on there are to the next line of the cache, in the last operand, which is written:
 * large arrays mostly lie alike. */
static long to_line(const struct group *group, long begin) {
  const uintptr_t address = (uintptr_t)group->operands[group->operand_count - 1] + (uintptr_t)begin * sizeof(float);
  return (long)((LINE - address % LINE) % LINE / sizeof(float));
}

#define CODE(step, to, a, b) {STEP_##step, to, a, b},
#define IS_UPDATE(name, numbers, variables)                                                               \
  {                                                                                                       \
    enum { REGISTERS_##name };                                                                            \
    static const struct instruction known[] = {STEPS_##name(CODE)};                                       \
    if (is_update(group, known, sizeof known, numbers, variables)) return UPDATE_##name;                  \
  }

static int is_update(const struct group *group, const struct instruction *known, size_t size, long numbers,
                     long variables) {
  if ((size_t)group->instructions * sizeof *known != size || group->operand_count != 1 + numbers + variables ||
      memcmp(group->code, known, size) != 0)
    return 0;
  for (long i = 0; i < group->operand_count; i++)
    if (group->forms[i] != (i == 0 ? FULL : i <= numbers ? NUMBER : UPDATED)) return 0;
  return 1;
}

/* Which update of an optimizer a group is; UPDATE_COUNT for none. */
static enum update update_of(const struct group *group) {
  UPDATES(IS_UPDATE)
  return UPDATE_COUNT;
}

/* The elements [begin, end) of a group that is an update. */
static void run_update(void *context, long begin, long end) {
  const struct group *group = context;
  float *at[MOST_ARRAYS];
  for (long i = 0; i < group->operand_count; i++)
    at[i] = group->forms[i] == NUMBER ? (float *)&group->numbers[i] : group->operands[i] + begin;
  group->update(at, end - begin);
}

/* The rows [begin, end) of a group. */
static void run_group(void *context, long begin, long end) {
  struct group *group = context;
  const long width = group->width, count = group->operand_count;
  /* Short rows go by several at a time, long ones piece by piece. */
  const long piece = width < PIECE ? width : PIECE, rows = PIECE / piece;
  const size_t block = ((size_t)(rows * piece) * sizeof(float) + LINE - 1) / LINE * LINE;
  char *allocated = malloc(block * (size_t)(group->temporaries + count) + LINE);
  if (allocated == NULL) {
    __atomic_store_n(&group->failed, 1, __ATOMIC_RELAXED);
    return;
  }
  char *memory = allocated + LINE - (uintptr_t)allocated % LINE;
  float *at[MOST_ARRAYS + MOST_TEMPORARIES];
  for (long i = 0; i < group->temporaries + count; i++) at[i] = (float *)(memory + (size_t)i * block);
  for (long i = 0; i < count; i++) {
    if (group->forms[i] == NUMBER) at[i] = &group->numbers[i];
    if (group->forms[i] == ROW && width <= PIECE)
      for (long r = 0; r < rows; r++) memcpy(at[i] + r * width, group->operands[i], sizeof(float) * (size_t)width);
  }
  /* A short first piece takes as many calls as any other. */
  const long head = width == 1 && end - begin > 16 * PIECE ? to_line(group, begin) : 0;
  for (long row = begin, some; row < end; row += some) {
    some = row == begin && head ? head : rows;
    if (some > end - row) some = end - row;
    for (long column = 0; column < width; column += piece) {
      const long length = width <= PIECE ? some * width : (width - column < PIECE ? width - column : PIECE);
      for (long i = 0; i < count; i++) {
        switch (group->forms[i]) {
          case ROW:
            if (width > PIECE) at[i] = group->operands[i] + column;
            break;
          case COLUMN:
            for (long r = 0; r < some; r++)
              for (long c = 0; c < length / some; c++) at[i][r * (length / some) + c] = group->operands[i][row + r];
            break;
          case FULL:
          case OUTPUT:
          case UPDATED:
            at[i] = group->operands[i] + row * width + column;
            break;
          default:
            break;
        }
      }
      for (long k = 0; k < group->instructions; k++) {
        const struct instruction *now = &group->code[k];
        const int32_t b = now->step >= FIRST_UNARY ? now->a : now->b;
        loops->step((enum step)now->step, at[now->to], at[now->a], now->a < count && group->forms[now->a] == NUMBER,
                    at[b], b < count && group->forms[b] == NUMBER, length);
      }
    }
  }
  free(allocated);
}

static long cost_of(int32_t step) {
  switch (step) {
    case STEP_MOVE: case STEP_ADD_PRODUCT: case STEP_SUBTRACT_PRODUCT: return 2;
    case STEP_DIVIDE: case STEP_RECIPROCAL: case STEP_SQRT: return 3;
    case STEP_SUBTRACT_QUOTIENT: case STEP_ADD_TO_ROOT: return 4;
    case STEP_REMAINDER: return 8;
    case STEP_LGAMMA: return 100;
    case STEP_EXP: case STEP_EXPM1: case STEP_LOG: return 8;
    case STEP_LOG1P: case STEP_TANH: case STEP_ARCTAN: return 12;
    case STEP_ERF: case STEP_ARCTAN2: return 20;
    case STEP_LOGADDEXP: return 25;
    default: return 1;
  }
}

/* Whether an instruction's operands are such as run_group may touch. */
static int is_valid(const struct group *group, const struct instruction *now) {
  const long count = group->operand_count, all = count + group->temporaries;
  if (now->step < 0 || now->step >= STEP_COUNT) return 0;
  if (now->to < 0 || now->to >= all || now->a < 0 || now->a >= all) return 0;
  if (now->to < count && group->forms[now->to] != OUTPUT && group->forms[now->to] != UPDATED) return 0;
  const int a_is_number = now->a < count && group->forms[now->a] == NUMBER;
  if (now->step >= FIRST_UNARY) return !a_is_number;
  if (now->b < 0 || now->b >= all) return 0;
  return !(a_is_number && now->b < count && group->forms[now->b] == NUMBER);
}

PyObject *evaluate(PyObject *self, PyObject *arguments) {
  (void)self;
  const char *code, *forms;
  Py_ssize_t code_length, form_count;
  PyObject *operands;
  long rows, width, temporaries, threads;
  if (!PyArg_ParseTuple(arguments, "y#O!y#llll", &code, &code_length, &PyTuple_Type, &operands, &forms, &form_count,
                        &rows, &width, &temporaries, &threads))
    return NULL;
  const long count = product(rows, width);
  if (count < 0) return NULL;
  if (form_count != PyTuple_Size(operands) || form_count > MOST_ARRAYS || temporaries < 0 ||
      temporaries > MOST_TEMPORARIES || code_length % (Py_ssize_t)sizeof(struct instruction) ||
      code_length > MOST_INSTRUCTIONS * (Py_ssize_t)sizeof(struct instruction))
    return PyErr_Format(PyExc_ValueError, "no code for these operands");
  struct instruction instructions[MOST_INSTRUCTIONS];
  memcpy(instructions, code, (size_t)code_length);
  struct arrays arrays = {.count = 0};
  struct group group = {.code = instructions,
                        .instructions = code_length / (Py_ssize_t)sizeof(struct instruction),
                        .operand_count = form_count,
                        .temporaries = temporaries,
                        .width = width};
  long cost = form_count;
  for (Py_ssize_t i = 0; i < form_count; i++) {
    PyObject *operand = PyTuple_GetItem(operands, i);
    const char form = group.forms[i] = forms[i];
    if (form == NUMBER) {
      double number = PyFloat_AsDouble(operand);
      if (number == -1.0 && PyErr_Occurred()) goto refuse;
      group.numbers[i] = (float)number;
      continue;
    }
    if (form < 0 || form >= FORM_COUNT) {
      PyErr_SetString(PyExc_ValueError, "no form of an operand");
      goto refuse;
    }
    group.operands[i] = array(&arrays, operand, "f", form == ROW ? width : form == COLUMN ? rows : count,
                              form == OUTPUT || form == UPDATED);
    if (group.operands[i] == NULL) goto refuse;
  }
  for (long i = 0; i < group.instructions; i++) {
    if (!is_valid(&group, &instructions[i])) {
      PyErr_SetString(PyExc_ValueError, "an instruction that does not fit the operands");
      goto refuse;
    }
    cost += cost_of(instructions[i].step);
  }
  if (!are_apart(&arrays)) goto refuse;
  if (count) {
    Py_BEGIN_ALLOW_THREADS
    long grain = grain_of(cost);
    /* Parts are of whole blocks. */
    long unit = width >= PIECE ? 1 : PIECE / width;
    grain = grain / (width * unit) * unit;
    const enum update update = width == 1 ? update_of(&group) : UPDATE_COUNT;
    if (update != UPDATE_COUNT) group.update = updates[update];
    in_parallel(update == UPDATE_COUNT ? run_group : run_update, &group, rows, grain < unit ? unit : grain, threads);
    Py_END_ALLOW_THREADS
  }
  release(&arrays);
  if (group.failed) return PyErr_NoMemory();
  Py_RETURN_NONE;
refuse:
  release(&arrays);
  return NULL;
}

PyObject *update_name(PyObject *self, PyObject *arguments) {
  (void)self;
  const char *code, *forms;
  Py_ssize_t code_length, form_count;
  if (!PyArg_ParseTuple(arguments, "y#y#", &code, &code_length, &forms, &form_count)) return NULL;
  struct instruction instructions[MOST_INSTRUCTIONS];
  struct group group = {.code = instructions, .operand_count = form_count};
  if (form_count > MOST_ARRAYS || code_length > (Py_ssize_t)sizeof instructions)
    return PyErr_Format(PyExc_ValueError, "no code for these operands");
  memcpy(instructions, code, (size_t)code_length);
  memcpy(group.forms, forms, (size_t)form_count);
  group.instructions = code_length / (Py_ssize_t)sizeof(struct instruction);
#define NAME_UPDATE(name, numbers, variables) #name,
  static const char *const names[] = {UPDATES(NAME_UPDATE)};
#undef NAME_UPDATE
  const enum update update = update_of(&group);
  return update == UPDATE_COUNT ? Py_NewRef(Py_None) : PyUnicode_FromString(names[update]);
}
