#define _GNU_SOURCE
#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#define MOST_THREADS 64

static struct {
  part_function function;
  void *context;
  long size, grain;
  atomic_long next;
} job;

static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER; /* by the call whose job it is */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;   /* of what follows */
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static long started, wanted, active; /* threads: there are, may join, are at the job */

static void run_parts(void) {
  for (;;) {
    long begin = atomic_fetch_add(&job.next, job.grain);
    if (begin >= job.size) return;
    long end = job.size - begin < job.grain ? job.size : begin + job.grain;
    job.function(job.context, begin, end);
  }
}

static void *serve(void *nothing) {
  (void)nothing;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (wanted == 0) pthread_cond_wait(&work, &lock);
    wanted--;
    active++;
    pthread_mutex_unlock(&lock);
    run_parts();
    pthread_mutex_lock(&lock);
    if (--active == 0) pthread_cond_signal(&done);
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
  pthread_mutex_lock(&lock);
  start(helpers);
  wanted = helpers < started ? helpers : started;
  for (long i = 0; i < wanted; i++) pthread_cond_signal(&work);
  pthread_mutex_unlock(&lock);
  if (own != NULL) own(context);
  run_parts();
  pthread_mutex_lock(&lock);
  wanted = 0; /* who has not come yet need not */
  while (active > 0) pthread_cond_wait(&done, &lock);
  pthread_mutex_unlock(&lock);
  pthread_mutex_unlock(&in_use);
}

/* A forked process has none of the threads, and locks in any state. */
static void after_fork(void) {
  pthread_mutex_init(&in_use, NULL);
  pthread_mutex_init(&lock, NULL);
  pthread_cond_init(&work, NULL);
  pthread_cond_init(&done, NULL);
  started = wanted = active = 0;
}

int prepare_pool(void) { return pthread_atfork(NULL, NULL, after_fork); }
