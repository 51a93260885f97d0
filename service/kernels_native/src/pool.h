/* Threads that share the work of one call. */
#ifndef TENSORFLEET_POOL_H
#define TENSORFLEET_POOL_H

typedef void (*part_function)(void *context, long begin, long end);

/* Calls function(context, begin, end) for ranges of about `grain` that together are [0, size), on up to `threads`
 * threads, and returns when all are done. The ranges do not depend on the number of threads. A call that finds the
 * threads at work for another does its own work alone. */
void in_parallel(part_function function, void *context, long size, long grain, long threads);

/* The same, where the calling thread calls own(context) first, which is work of its own. */
void in_parallel_beside(void (*own)(void *), part_function function, void *context, long size, long grain,
                        long threads);

#define WORK 100000 /* additions of a part: some 20 us, several times what it takes to wake a thread */
static inline long grain_of(long cost) { return cost >= WORK ? 1 : WORK / (cost < 1 ? 1 : cost); }

/* Before the first call; 0, or an error number. */
int prepare_pool(void);

#endif
