/* A second thread, for large tensors: it seals or opens, while the first one is in the system's calls, for as long as
 * the tensor takes. It only computes: whatever may wait for the other side, and ends by a signal or a timeout, is left
 * to the caller's. */
#include "tls_channel.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

/* Memory of the thread's calls, in bytes. */
#define STACK (256 * 1024)

/* A thread that has run out of work sleeps until there is this much of it: to be woken takes as long as a record. Half of
 * the ring at most, so that not both sleep. */
#define ENOUGH (4 * PIECE)

struct beside {
  struct channel *c;
  pthread_t thread;
  pthread_mutex_t lock;         /* of what follows, and to wait by */
  pthread_cond_t work, results; /* for the thread and for its caller */
  int thread_sleeps, caller_sleeps, stop, over;
  enum outcome outcome;
  struct failure why;
  struct outgoing *out; /* what it encrypts, or NULL */
  char *to;             /* into which it decrypts */
  size_t size, *got;
};

/* The bytes that the thread can put in or take out. */
static size_t work_of(const struct beside *b) {
  return b->out != NULL ? RING - held(&b->c->sealed) : held(&b->c->arrived);
}

/* The bytes that the caller can take out or put in. */
static size_t results_of(const struct beside *b) { return RING - work_of(b); }

static int is_at_end(const struct beside *b) {
  if (b->out != NULL) return b->out->view == b->out->count;
  return *b->got == b->size || b->c->over || b->c->read_outcome != DONE;
}

static void *compute(void *argument) {
  struct beside *b = argument;
  const size_t least = b->out != NULL ? PIECE + SPARE : RECORD;
  enum outcome outcome = DONE;
  struct failure why = {0, NULL};
  for (;;) {
    pthread_mutex_lock(&b->lock);
    if (b->caller_sleeps && results_of(b) >= ENOUGH) pthread_cond_signal(&b->results);
    if (!b->stop && work_of(b) < least) {
      b->thread_sleeps = 1;
      while (!b->stop && work_of(b) < ENOUGH) pthread_cond_wait(&b->work, &b->lock);
      b->thread_sleeps = 0;
    }
    const int stop = b->stop;
    pthread_mutex_unlock(&b->lock);
    if (stop) break;
    if (b->out != NULL)
      outcome = seal(b->c, b->out, PIECE, 0, &why);
    else
      open_arrived(b->c, b->to, b->size, b->got);
    if (outcome != DONE || is_at_end(b)) break;
  }
  pthread_mutex_lock(&b->lock);
  b->outcome = outcome;
  b->why = why;
  b->over = 1;
  pthread_cond_signal(&b->results);
  pthread_mutex_unlock(&b->lock);
  return NULL;
}

/* Tells the thread what there is to do, and waits until there is something for the caller, too; whether the thread still
 * runs. */
static int go_on(struct beside *b) {
  pthread_mutex_lock(&b->lock);
  if (b->thread_sleeps && work_of(b) >= ENOUGH) pthread_cond_signal(&b->work);
  if (!b->over && !results_of(b)) {
    b->caller_sleeps = 1;
    while (!b->over && results_of(b) < ENOUGH) pthread_cond_wait(&b->results, &b->lock);
    b->caller_sleeps = 0;
  }
  const int runs = !b->over;
  pthread_mutex_unlock(&b->lock);
  return runs;
}

/* Whether it runs; it gets no signals, which are for threads of the interpreter. */
static int start(struct beside *b) {
  sigset_t all, before;
  pthread_attr_t small;
  pthread_mutex_init(&b->lock, NULL);
  pthread_cond_init(&b->work, NULL);
  pthread_cond_init(&b->results, NULL);
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, STACK);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(&b->thread, &small, compute, b);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&small);
  if (!failed) return 1;
  pthread_cond_destroy(&b->results);
  pthread_cond_destroy(&b->work);
  pthread_mutex_destroy(&b->lock);
  b->c->beside_from = 0; /* this thread does all of it, and for this connection does not ask again */
  return 0;
}

static void finish(struct beside *b) {
  pthread_mutex_lock(&b->lock);
  b->stop = 1;
  pthread_cond_signal(&b->work);
  pthread_mutex_unlock(&b->lock);
  pthread_join(b->thread, NULL);
  pthread_cond_destroy(&b->results);
  pthread_cond_destroy(&b->work);
  pthread_mutex_destroy(&b->lock);
}

enum outcome send_beside(struct channel *c, struct outgoing *out, int flags, int64_t until, struct failure *why) {
  struct beside b = {.c = c, .out = out};
  if (!start(&b)) return DONE;
  enum outcome outcome = DONE;
  while (outcome == DONE && (go_on(&b) || held(&c->sealed))) outcome = send_some(c, PIECE, flags, until, why);
  finish(&b);
  if (outcome != DONE || b.outcome == DONE) return outcome;
  *why = b.why;
  return b.outcome;
}

enum outcome receive_beside(struct channel *c, char *to, size_t size, size_t *got) {
  /* So many bytes come before the tensor is there, whatever the library holds of a record. */
  size_t certain = size - *got - held(&c->arrived) - (RECORD + OVERHEAD);
  struct beside b = {.c = c, .to = to, .size = size, .got = got};
  if (!start(&b)) return DONE;
  enum outcome outcome = DONE;
  struct failure failure = {0, NULL};
  int closed = 0;
  while (certain && outcome == DONE && go_on(&b)) {
    const size_t place = end_of_ring(&c->arrived), room = RING - (place - begin_of(&c->arrived));
    size_t some = room < certain ? room : certain;
    some = in_a_row(place, some < PIECE ? some : PIECE);
    const ssize_t received = recv(c->descriptor, c->arrived.data + place % RING, some, MSG_WAITALL);
    failure.number = errno;
    if (received < 0 || (size_t)received < some) outcome = INTERRUPTED; /* by a signal, or the end */
    if (received < 0 && failure.number != EINTR && failure.number != EAGAIN && failure.number != EWOULDBLOCK)
      outcome = BROKEN;
    closed = received == 0;
    if (received <= 0) break;
    set_end(&c->arrived, place + (size_t)received);
    certain -= (size_t)received;
  }
  finish(&b);
  if (closed) c->over = 1;
  if (outcome == BROKEN && c->read_outcome == DONE) {
    c->read_outcome = BROKEN; /* the system says so once */
    c->read_failure = failure;
  }
  return outcome;
}
