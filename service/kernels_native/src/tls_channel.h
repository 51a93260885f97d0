/* A connection whose records are sealed and opened by the library, and sent and received by this module. */
#ifndef TENSORFLEET_TLS_CHANNEL_H
#define TENSORFLEET_TLS_CHANNEL_H

#include "tls_library.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

enum {
  RECORD = 16 * 1024, /* bytes in a record at most */
  OVERHEAD = 256,     /* of a record, at most, by the protocol */
  PIECE = 4 * RECORD, /* sealed before it is sent; received before it is opened */
  CHUNK = 8 * PIECE,  /* the same, in the midst of a large tensor: fewer calls, and the other side is woken less often */
  SPARE = 64 * 1024,  /* for the heads of records, and answers of the library */
  MOST_ANSWERS = 32 * 1024,
  RING = 1024 * 1024, /* a power of two, of CHUNK + SPARE at least */
  SMALL = 4096,       /* buffers below are put together into one record */
  MOST_BUFFERS = 64,
};

/* Bytes on their way: one thread puts them in, one takes them out. Counts of bytes, whose places are those modulo RING. */
struct ring {
  _Atomic size_t begin, end;
  char *data;
};

static inline size_t begin_of(const struct ring *ring) {
  return atomic_load_explicit(&ring->begin, memory_order_acquire);
}

static inline size_t end_of_ring(const struct ring *ring) {
  return atomic_load_explicit(&ring->end, memory_order_acquire);
}

static inline size_t held(const struct ring *ring) { return end_of_ring(ring) - begin_of(ring); }

static inline void set_begin(struct ring *ring, size_t place) {
  atomic_store_explicit(&ring->begin, place, memory_order_release);
}

static inline void set_end(struct ring *ring, size_t place) {
  atomic_store_explicit(&ring->end, place, memory_order_release);
}

/* How many bytes from a place on are one piece of memory. */
static inline size_t in_a_row(size_t place, size_t size) {
  const size_t left = RING - place % RING;
  return size < left ? size : left;
}

/* What a call ends with. Without the interpreter. */
enum outcome { DONE, WOULD_BLOCK, INTERRUPTED, LATE, BROKEN, FAILED };

struct failure {
  int number;         /* the system's, if BROKEN or WOULD_BLOCK */
  const char *reason; /* the library's, if FAILED */
};

struct channel {
  PyObject_HEAD
  PyObject *owner; /* ssl's object, which keeps the library's */
  SSL *ssl;
  BIO *bio;
  pthread_mutex_t lock; /* of what the library is asked, and what is put into `sealed` */
  int descriptor, users, closed;
  _Atomic int timeout; /* in milliseconds, or -1: the socket's own */
  unsigned long long records, renewed_after;
  size_t beside_from;  /* so many bytes have a second thread; 0 is never */
  struct ring arrived; /* not yet read by the library */
  struct ring sealed;  /* not yet sent */
  size_t answers;      /* bytes that the library has put into it when it was asked to read */
  int reading;         /* whether the library may take from `arrived` */
  int has_more;        /* whether the library may hold bytes that were opened, and not yet asked for */
  /* How reading has ended, for all calls from then on: at the end of the stream, or BROKEN or FAILED. */
  int over;
  enum outcome read_outcome;
  struct failure read_failure;
  char *memory, *gathered;
};

/* What is to be sent: the next byte is at `place` of the buffer `view`. */
struct outgoing {
  const Py_buffer *views;
  int count, view;
  size_t place, consumed;
};

/* Prepares what is common to all channels; whether that was possible. */
int prepare_channels(void);

/* Has the library's object read and write by a channel, which has `arrived` already; -1 without memory. */
int attach(struct channel *c, SSL *ssl, const char *arrived, size_t size);
void detach(struct channel *c);

/* When a call ends that begins now, by the socket's timeout: of the system's clock, in milliseconds. */
int64_t end_of_call(const struct channel *c);

/* Sends all, or until the system refuses. */
enum outcome send_all(struct channel *c, struct outgoing *out, int flags, int64_t until, struct failure *why);

/* Receives some bytes, or with `all` so many, until the stream ends or the system refuses. */
enum outcome receive(struct channel *c, char *to, size_t size, int all, int64_t until, size_t *got,
                     struct failure *why);

/* Encrypts up to `room` of the next bytes; `is_alone` if no other thread sends what is encrypted. */
enum outcome seal(struct channel *c, struct outgoing *out, size_t room, int is_alone, struct failure *why);

/* Sends once of what is encrypted, so many bytes at most. */
enum outcome send_some(struct channel *c, size_t most, int flags, int64_t until, struct failure *why);

/* Decrypts what has arrived; notes in the channel why there is nothing more to read. */
void open_arrived(struct channel *c, char *to, size_t size, size_t *got);

/* The same two with a second thread (tls_beside.c). What they leave, or all if there is no such thread, is the caller's. */
enum outcome send_beside(struct channel *c, struct outgoing *out, int flags, int64_t until, struct failure *why);

/* To the last bytes but some: those that may come with what follows. INTERRUPTED if less came than was waited for. */
enum outcome receive_beside(struct channel *c, char *to, size_t size, size_t *got);

#endif
