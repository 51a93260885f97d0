#define _GNU_SOURCE
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define MOST_THREADS 64
#define SPIN_TIME 50000 /* nanoseconds in which a thread waits for work, or for the others' end, before it sleeps */
#define SPINS 32        /* between two looks at the clock, some hundred nanoseconds each */

static struct {
  part_function function;
  void *context;
  long size, grain;
  atomic_long next;
} job;

/* Threads come and go by these numbers alone: the lock is for those that sleep. Each side first says what it does and
 * then looks at what the other one says, so one of two that meet sees the other. */
static atomic_long wanted, active;       /* threads that may join the job, that are at it */
static atomic_long spinning, is_waiting; /* threads without work that are awake; whether the job's call sleeps */

static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER; /* by the call whose job it is */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;   /* of what follows */
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static long started;

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void pause_spin(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Spins until a number is zero, or other than zero: 0 if it is not in time. To wake a sleeping thread takes 30 to 60 us
 * as long as many a part; between two calls of a step there are fewer. Others that want the core get it meanwhile. */
static int spin_until(atomic_long *number, int to_zero) {
  const long end = now() + SPIN_TIME;
  do {
    for (int i = 0; i < SPINS; i++) {
      if ((atomic_load(number) == 0) == to_zero) return 1;
      pause_spin();
    }
    sched_yield();
  } while (now() < end);
  return 0;
}

static void run_parts(void) {
  for (;;) {
    long begin = atomic_fetch_add(&job.next, job.grain);
    if (begin >= job.size) return;
    long end = job.size - begin < job.grain ? job.size : begin + job.grain;
    job.function(job.context, begin, end);
  }
}

/* Takes one of the places at the job, if there is one: 0 if not. */
static int join(void) {
  long places = atomic_load(&wanted);
  while (places > 0)
    if (atomic_compare_exchange_weak(&wanted, &places, places - 1)) return 1;
  return 0;
}

static void *serve(void *nothing) {
  (void)nothing;
  for (;;) {
    atomic_fetch_add(&spinning, 1);
    spin_until(&wanted, 0);
    atomic_fetch_sub(&spinning, 1);
    if (atomic_load(&wanted) == 0) {
      pthread_mutex_lock(&lock);
      while (atomic_load(&wanted) == 0) pthread_cond_wait(&work, &lock);
      pthread_mutex_unlock(&lock);
    }
    atomic_fetch_add(&active, 1); /* before it joins: the call waits for all that have */
    if (join()) run_parts();
    if (atomic_fetch_sub(&active, 1) == 1 && atomic_load(&is_waiting)) {
      pthread_mutex_lock(&lock);
      pthread_cond_signal(&done);
      pthread_mutex_unlock(&lock);
    }
  }
  return NULL;
}

/* Has so many threads; fewer, if the system gives no more. */
static void start(long count) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the interpreter's threads */
  while (started < count) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, NULL) != 0) break;
    pthread_detach(thread);
    started++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void in_parallel(part_function function, void *context, long size, long grain, long threads) {
  in_parallel_beside(NULL, function, context, size, grain, threads);
}

void in_parallel_beside(void (*own)(void *), part_function function, void *context, long size, long grain,
                        long threads) {
  if (grain < 1) grain = 1;
  const long parts = (size + grain - 1) / grain + (own != NULL);
  long helpers = (threads < parts ? threads : parts) - 1;
  if (helpers > MOST_THREADS - 1) helpers = MOST_THREADS - 1;
  if (helpers < 1 || pthread_mutex_trylock(&in_use) != 0) {
    if (own != NULL) own(context);
    for (long begin = 0; begin < size; begin += grain)
      function(context, begin, size - begin < grain ? size : begin + grain);
    return;
  }
  job.function = function;
  job.context = context;
  job.size = size;
  job.grain = grain;
  atomic_store(&job.next, 0);
  if (started < helpers) start(helpers);
  if (helpers > started) helpers = started;
  atomic_store(&wanted, helpers);
  const long asleep = helpers - atomic_load(&spinning);
  if (asleep > 0) {
    pthread_mutex_lock(&lock); /* no thread is between its last look and its sleep */
    for (long i = 0; i < asleep; i++) pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
  }
  if (own != NULL) own(context);
  run_parts();
  atomic_store(&wanted, 0); /* who has not come yet need not */
  if (!spin_until(&active, 1)) {
    pthread_mutex_lock(&lock);
    atomic_store(&is_waiting, 1);
    while (atomic_load(&active) > 0) pthread_cond_wait(&done, &lock);
    atomic_store(&is_waiting, 0);
    pthread_mutex_unlock(&lock);
  }
  pthread_mutex_unlock(&in_use);
}

/* A forked process has none of the threads, and locks in any state. */
static void after_fork(void) {
  pthread_mutex_init(&in_use, NULL);
  pthread_mutex_init(&lock, NULL);
  pthread_cond_init(&work, NULL);
  pthread_cond_init(&done, NULL);
  atomic_store(&wanted, 0);
  atomic_store(&active, 0);
  atomic_store(&spinning, 0);
  atomic_store(&is_waiting, 0);
  started = 0;
}

int prepare_pool(void) { return pthread_atfork(NULL, NULL, after_fork); }
