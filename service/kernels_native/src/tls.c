/* TLS records of a connection whose handshake Python's ssl has made: what is written and read afterwards, many
 * records a call, without the interpreter.
 *
 * The cipher and the protocol are those of the OpenSSL that ssl uses itself, whose functions are looked up in it: nothing
 * is linked, and where they are not found, `open` says so and ssl does all of it. ssl has no way to hand out the
 * library's object, so it is found beside the pointer to the connection's context, and then asked whose it is.
 *
 * One thread reads and one sends; the library's object is used under a lock that is not held for I/O. For a large tensor a
 * second thread encrypts or decrypts, while the first one is in the system's calls: as long as that tensor takes. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define INTERFACE 2 /* another number for each change of what wire/tls.py calls, there as well */

enum {
  RECORD = 16 * 1024,     /* bytes in a record at most */
  OVERHEAD = 256,         /* of a record, at most, by the protocol */
  CHUNK = 8 * RECORD,     /* encrypted before it is sent */
  PIECE = 4 * RECORD,     /* received before it is decrypted; encrypted, too, by a thread beside */
  SPARE = 64 * 1024,      /* for the heads of records, and answers of the library */
  RING = 256 * 1024,      /* a power of two, of CHUNK + SPARE at least */
  STACK = 256 * 1024,
  SMALL = 4096,           /* buffers below are put together into one record */
  MOST_BUFFERS = 64,
};

/* ---- the library ------------------------------------------------------------------------------------------------ */

typedef struct ssl_st SSL;
typedef struct bio_st BIO;
typedef struct bio_method_st BIO_METHOD;

/* Of OpenSSL's interface, which does not change. */
enum { SSL_ERROR_WANT_READ = 2, SSL_ERROR_ZERO_RETURN = 6, SSL_KEY_UPDATE_NOT_REQUESTED = 0 };
enum { BIO_FLAGS_READ = 1, BIO_FLAGS_SHOULD_RETRY = 8, BIO_CTRL_FLUSH = 11, BIO_TYPE_SOURCE_SINK = 0x400 };

#define FUNCTIONS(F)                                                    \
  F(int, SSL_read_ex, (SSL *, void *, size_t, size_t *))                \
  F(int, SSL_write_ex, (SSL *, const void *, size_t, size_t *))         \
  F(int, SSL_get_error, (const SSL *, int))                             \
  F(int, SSL_pending, (const SSL *))                                    \
  F(int, SSL_key_update, (SSL *, int))                                  \
  F(int, SSL_set_ciphersuites, (SSL *, const char *))                   \
  F(void *, SSL_get_ex_data, (const SSL *, int))                        \
  F(void *, SSL_get_SSL_CTX, (const SSL *))                             \
  F(void, SSL_set_bio, (SSL *, BIO *, BIO *))                           \
  F(int, BIO_get_new_index, (void))                                     \
  F(BIO_METHOD *, BIO_meth_new, (int, const char *))                    \
  F(int, BIO_meth_set_read, (BIO_METHOD *, int (*)(BIO *, char *, int)))        \
  F(int, BIO_meth_set_write, (BIO_METHOD *, int (*)(BIO *, const char *, int))) \
  F(int, BIO_meth_set_ctrl, (BIO_METHOD *, long (*)(BIO *, int, long, void *))) \
  F(BIO *, BIO_new, (const BIO_METHOD *))                               \
  F(int, BIO_up_ref, (BIO *))                                           \
  F(int, BIO_free, (BIO *))                                             \
  F(void, BIO_set_init, (BIO *, int))                                   \
  F(void, BIO_set_data, (BIO *, void *))                                \
  F(void *, BIO_get_data, (BIO *))                                      \
  F(void, BIO_set_flags, (BIO *, int))                                  \
  F(void, BIO_clear_flags, (BIO *, int))                                \
  F(unsigned long, ERR_peek_last_error, (void))                         \
  F(void, ERR_clear_error, (void))                                      \
  F(const char *, ERR_reason_error_string, (unsigned long))             \
  F(const char *, OpenSSL_version, (int))

#define DECLARE(type, name, arguments) static type(*name) arguments;
FUNCTIONS(DECLARE)
#undef DECLARE

static BIO_METHOD *method;

/* ---- a connection ----------------------------------------------------------------------------------------------- */

/* Bytes on their way: one thread puts them in, one takes them out. Counts of bytes, whose places are those modulo RING. */
struct ring {
  _Atomic size_t begin, end;
  char *data;
};

static size_t held(const struct ring *ring) { return ring->end - ring->begin; }

/* How many bytes from a place on are one piece of memory. */
static size_t in_a_row(size_t place, size_t size) {
  const size_t left = RING - place % RING;
  return size < left ? size : left;
}

/* The smallest memory that does is the fastest: what small messages use stays in the cache. */
static void begin_again(struct ring *ring) {
  if (ring->begin == ring->end) ring->begin = ring->end = 0;
}

struct channel {
  PyObject_HEAD
  PyObject *owner; /* ssl's object, which keeps the library's */
  SSL *ssl;
  BIO *bio;
  pthread_mutex_t lock; /* of what the library is asked, and what is put into `sealed` */
  int descriptor, users, closed;
  int timeout; /* in milliseconds, or -1: the socket's own */
  unsigned long long records, renewed_after;
  size_t beside_from;     /* so many bytes have a second thread; 0 is never */
  struct ring arrived;    /* not yet read by the library */
  struct ring sealed;     /* not yet sent */
  int reading;            /* whether the library may take from `arrived` */
  char *memory, *gathered;
};

static int take_arrived(BIO *bio, char *to, int size) {
  struct channel *c = BIO_get_data(bio);
  BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
  if (c == NULL || size < 0) return -1;
  const size_t there = c->reading ? held(&c->arrived) : 0;
  if (!there) {
    BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
    return -1;
  }
  const size_t taken = there < (size_t)size ? there : (size_t)size, place = c->arrived.begin;
  const size_t first = in_a_row(place, taken);
  memcpy(to, c->arrived.data + place % RING, first);
  memcpy(to + first, c->arrived.data, taken - first);
  c->arrived.begin = place + taken;
  return (int)taken;
}

static int keep_sealed(BIO *bio, const char *from, int size) {
  struct channel *c = BIO_get_data(bio);
  /* Answers to a peer that asks for new keys without end have no more room than this. */
  if (c == NULL || size < 0 || (size_t)size > RING - held(&c->sealed)) return -1;
  const size_t place = c->sealed.end, first = in_a_row(place, (size_t)size);
  memcpy(c->sealed.data + place % RING, from, first);
  memcpy(c->sealed.data, from + first, (size_t)size - first);
  c->sealed.end = place + (size_t)size;
  return size;
}

static long control(BIO *bio, int command, long number, void *pointer) {
  (void)bio, (void)number, (void)pointer;
  return command == BIO_CTRL_FLUSH;
}

/* What a call ends with. Without the interpreter. */
enum outcome { DONE, WOULD_BLOCK, INTERRUPTED, LATE, BROKEN, FAILED };

struct failure {
  int number;
  const char *reason;
};

static enum outcome library_failed(struct failure *why) {
  const char *reason = ERR_reason_error_string(ERR_peek_last_error());
  why->reason = reason == NULL ? "the connection broke" : reason;
  ERR_clear_error();
  return FAILED;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* What to do after the system refused to send or receive: DONE is to try again. */
static enum outcome refused(const struct channel *c, short events, int64_t until, struct failure *why) {
  why->number = errno;
  if (errno == EINTR) return INTERRUPTED;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return BROKEN;
  if (c->timeout < 0) return WOULD_BLOCK;
  const int64_t left = until - now();
  struct pollfd one = {.fd = c->descriptor, .events = events};
  const int ready = left > 0 ? poll(&one, 1, (int)left) : 0;
  if (ready < 0 && errno == EINTR) return INTERRUPTED;
  return ready > 0 ? DONE : LATE;
}

/* What is to be sent: the next byte is at `place` of the buffer `view`. */
struct outgoing {
  const Py_buffer *views;
  int count, view;
  size_t place, consumed;
};

/* Encrypts up to `room` of the next bytes. */
static enum outcome seal(struct channel *c, struct outgoing *out, size_t room, struct failure *why) {
  enum outcome outcome = DONE;
  pthread_mutex_lock(&c->lock);
  if (ERR_peek_last_error()) ERR_clear_error();
  if (c->records >= c->renewed_after) {
    c->records = 0;
    if (SSL_key_update(c->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1) outcome = library_failed(why);
  }
  while (outcome == DONE && room && out->view < out->count) {
    const Py_buffer *view = &out->views[out->view];
    const char *data = (const char *)view->buf + out->place;
    size_t size = (size_t)view->len - out->place;
    if (size < SMALL && out->view + 1 < out->count) {
      /* A record of several: heads, and what belongs to them. */
      const size_t most = room < RECORD ? room : RECORD;
      data = c->gathered;
      size = 0;
      while (out->view < out->count && size < most) {
        view = &out->views[out->view];
        const size_t left = (size_t)view->len - out->place, some = left < most - size ? left : most - size;
        memcpy(c->gathered + size, (const char *)view->buf + out->place, some);
        size += some;
        out->place += some;
        if (some == left) ++out->view, out->place = 0;
      }
    } else {
      if (size > room) size = room;
      out->place += size;
      if (out->place == (size_t)view->len) ++out->view, out->place = 0;
    }
    size_t written = 0;
    if (size && (SSL_write_ex(c->ssl, data, size, &written) != 1 || written != size)) outcome = library_failed(why);
    c->records += size / RECORD + 1;
    out->consumed += size;
    room -= size;
  }
  pthread_mutex_unlock(&c->lock);
  return outcome;
}

/* Sends once of what is encrypted. */
static enum outcome send_some(struct channel *c, int flags, int64_t until, struct failure *why) {
  const size_t place = c->sealed.begin;
  const size_t size = in_a_row(place, c->sealed.end - place);
  const ssize_t sent = send(c->descriptor, c->sealed.data + place % RING, size, flags | MSG_NOSIGNAL);
  if (sent >= 0) {
    c->sealed.begin = place + (size_t)sent;
    return DONE;
  }
  if (flags & MSG_DONTWAIT && (errno == EAGAIN || errno == EWOULDBLOCK)) return WOULD_BLOCK;
  return refused(c, POLLOUT, until, why);
}

/* Decrypts what has arrived; `*over` at the end of the stream. */
static enum outcome decrypt(struct channel *c, char *to, size_t size, size_t *got, int *over, struct failure *why) {
  enum outcome outcome = DONE;
  if (!held(&c->arrived) && !SSL_pending(c->ssl)) return DONE;
  pthread_mutex_lock(&c->lock);
  if (ERR_peek_last_error()) ERR_clear_error();
  c->reading = 1;
  while (*got < size) {
    if (!held(&c->arrived) && !SSL_pending(c->ssl)) break;
    size_t read = 0;
    if (SSL_read_ex(c->ssl, to + *got, size - *got, &read) == 1) {
      *got += read;
      continue;
    }
    const int error = SSL_get_error(c->ssl, 0);
    if (error == SSL_ERROR_WANT_READ) break;
    if (error == SSL_ERROR_ZERO_RETURN)
      *over = 1;
    else
      outcome = library_failed(why);
    break;
  }
  c->reading = 0;
  pthread_mutex_unlock(&c->lock);
  return outcome;
}

/* ---- a second thread, for large tensors ------------------------------------------------------------------------- */

/* It only computes: whatever may wait for the other side, and ends by a signal or a timeout, is left to the caller's. */
struct beside {
  struct channel *c;
  pthread_t thread;
  pthread_mutex_t lock; /* of the two below, and to wait by */
  pthread_cond_t moved; /* one of the rings, or those */
  int stop, over;
  enum outcome outcome;
  struct failure why;
  struct outgoing *out; /* what it encrypts, or NULL */
  char *to;             /* into which it decrypts */
  size_t size, *got;
  int *ended;
};

static void tell(struct beside *b) {
  pthread_mutex_lock(&b->lock);
  pthread_cond_broadcast(&b->moved);
  pthread_mutex_unlock(&b->lock);
}

static int can_compute(const struct beside *b) {
  return b->out != NULL ? RING - held(&b->c->sealed) >= PIECE + SPARE : held(&b->c->arrived) >= RECORD;
}

static void *compute(void *argument) {
  struct beside *b = argument;
  enum outcome outcome = DONE;
  struct failure why = {0, NULL};
  for (;;) {
    pthread_mutex_lock(&b->lock);
    while (!b->stop && !can_compute(b)) pthread_cond_wait(&b->moved, &b->lock);
    const int stop = b->stop;
    pthread_mutex_unlock(&b->lock);
    if (stop) break;
    if (b->out != NULL)
      outcome = seal(b->c, b->out, PIECE, &why);
    else
      outcome = decrypt(b->c, b->to, b->size, b->got, b->ended, &why);
    if (outcome != DONE || (b->out != NULL ? b->out->view == b->out->count : *b->got == b->size || *b->ended)) break;
    tell(b);
  }
  pthread_mutex_lock(&b->lock);
  b->outcome = outcome;
  b->why = why;
  b->over = 1;
  pthread_cond_broadcast(&b->moved);
  pthread_mutex_unlock(&b->lock);
  return NULL;
}

/* Whether it runs; it gets no signals, which are for threads of the interpreter. */
static int start(struct beside *b) {
  sigset_t all, before;
  pthread_attr_t small;
  pthread_mutex_init(&b->lock, NULL);
  pthread_cond_init(&b->moved, NULL);
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, STACK);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(&b->thread, &small, compute, b);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&small);
  if (!failed) return 1;
  pthread_cond_destroy(&b->moved);
  pthread_mutex_destroy(&b->lock);
  b->c->beside_from = 0; /* this thread does all of it, and for this connection does not ask again */
  return 0;
}

static enum outcome finish(struct beside *b, struct failure *why) {
  pthread_mutex_lock(&b->lock);
  b->stop = 1;
  pthread_cond_broadcast(&b->moved);
  pthread_mutex_unlock(&b->lock);
  pthread_join(b->thread, NULL);
  pthread_cond_destroy(&b->moved);
  pthread_mutex_destroy(&b->lock);
  if (b->outcome != DONE) *why = b->why;
  return b->outcome;
}

/* Sends all, or until the system refuses. */
static enum outcome send_beside(struct channel *c, struct outgoing *out, int flags, int64_t until, struct failure *why) {
  struct beside b = {.c = c, .out = out};
  if (!start(&b)) return DONE;
  enum outcome outcome = DONE;
  for (;;) {
    pthread_mutex_lock(&b.lock);
    while (!b.over && !held(&c->sealed)) pthread_cond_wait(&b.moved, &b.lock);
    pthread_mutex_unlock(&b.lock);
    if (!held(&c->sealed)) break;
    outcome = send_some(c, flags, until, why);
    if (outcome != DONE) break;
    tell(&b);
  }
  const enum outcome sealed = finish(&b, why);
  return outcome == DONE ? sealed : outcome;
}

/* Receives and decrypts, to the last bytes but some: those that may come with what follows. */
static enum outcome receive_beside(struct channel *c, char *to, size_t size, size_t *got, int *over,
                                   struct failure *why) {
  /* So many bytes come before the tensor is there, whatever the library holds of a record. */
  size_t certain = size - *got - held(&c->arrived) - (RECORD + OVERHEAD);
  struct beside b = {.c = c, .to = to, .size = size, .got = got, .ended = over};
  if (!start(&b)) return DONE;
  enum outcome outcome = DONE;
  int closed = 0;
  while (certain && outcome == DONE) {
    pthread_mutex_lock(&b.lock);
    while (!b.over && held(&c->arrived) == RING) pthread_cond_wait(&b.moved, &b.lock);
    const int ended = b.over;
    pthread_mutex_unlock(&b.lock);
    if (ended) break;
    const size_t place = c->arrived.end, room = RING - (place - c->arrived.begin);
    size_t some = room < certain ? room : certain;
    some = in_a_row(place, some < PIECE ? some : PIECE);
    const ssize_t received = recv(c->descriptor, c->arrived.data + place % RING, some, MSG_WAITALL);
    if (received < 0 || (size_t)received < some) outcome = INTERRUPTED; /* the next call sees why */
    closed = received == 0;
    if (received <= 0) break;
    c->arrived.end = place + (size_t)received;
    certain -= (size_t)received;
    tell(&b);
  }
  const enum outcome decrypted = finish(&b, why);
  if (closed) *over = 1;
  return decrypted == DONE ? outcome : decrypted;
}

/* ---- sending and receiving -------------------------------------------------------------------------------------- */

static enum outcome send_all(struct channel *c, struct outgoing *out, int flags, int64_t until, struct failure *why) {
  size_t left = 0;
  for (int i = out->view; i < out->count; i++) left += (size_t)out->views[i].len;
  if (c->beside_from && left - out->place >= c->beside_from) {
    const enum outcome outcome = send_beside(c, out, flags, until, why);
    if (outcome != DONE) return outcome;
  }
  for (;;) {
    while (held(&c->sealed)) {
      const enum outcome outcome = send_some(c, flags, until, why);
      if (outcome != DONE) return outcome;
    }
    if (out->view == out->count) return DONE;
    pthread_mutex_lock(&c->lock);
    begin_again(&c->sealed);
    pthread_mutex_unlock(&c->lock);
    const enum outcome outcome = seal(c, out, CHUNK, why);
    if (outcome != DONE) return outcome;
  }
}

/* Receives once what has to arrive for `left` more bytes; `*received` is 0 at the end of the stream. */
static enum outcome fetch(struct channel *c, size_t left, int all, int64_t until, ssize_t *received, int *is_short,
                          struct failure *why) {
  begin_again(&c->arrived);
  const size_t place = c->arrived.end, there = held(&c->arrived);
  size_t size = in_a_row(place, RING - there < PIECE ? RING - there : PIECE);
  /* What certainly comes is waited for: to be woken for each part of it takes longer than to copy it. */
  const size_t known = there + RECORD + OVERHEAD;
  const int wait = all && left > known;
  if (wait && size > left - known) size = left - known;
  for (;;) {
    *received = recv(c->descriptor, c->arrived.data + place % RING, size, wait ? MSG_WAITALL : 0);
    if (*received >= 0) break;
    const enum outcome outcome = refused(c, POLLIN, until, why);
    if (outcome != DONE) return outcome;
  }
  c->arrived.end = place + (size_t)*received;
  *is_short = wait && (size_t)*received < size;
  return DONE;
}

static enum outcome receive(struct channel *c, char *to, size_t size, int all, int64_t until, size_t *got,
                            struct failure *why) {
  int over = 0, is_short = 0;
  for (;;) {
    enum outcome outcome = decrypt(c, to, size, got, &over, why);
    if (outcome != DONE) return outcome;
    if (over || *got == size || (*got && (!all || is_short))) return DONE;
    if (is_short) return INTERRUPTED;
    /* A socket with a timeout does not wait by itself. */
    if (all && c->beside_from && c->timeout < 0 && size - *got >= c->beside_from + 2 * RING) {
      outcome = receive_beside(c, to, size, got, &over, why);
      if (outcome == INTERRUPTED) is_short = 1;
      if (outcome == FAILED) return outcome;
      continue;
    }
    ssize_t received;
    outcome = fetch(c, size - *got, all, until, &received, &is_short, why);
    if (outcome != DONE) return *got && outcome != BROKEN ? DONE : outcome;
    if (!received) return DONE;
  }
}

/* ---- its methods ------------------------------------------------------------------------------------------------ */

static int64_t end_of(const struct channel *c) { return c->timeout < 0 ? 0 : now() + c->timeout; }

static int enter(struct channel *c) {
  if (c->closed) {
    errno = EBADF;
    PyErr_SetFromErrno(PyExc_OSError);
    return -1;
  }
  c->users++;
  return 0;
}

/* The descriptor lives for as long as a thread is at it, so that its number is nobody else's. */
static void leave(struct channel *c) {
  if (!--c->users && c->closed) {
    close(c->descriptor);
    c->descriptor = -1;
  }
}

/* An exception for an outcome; 0 if the call is to go on. */
static int raise_for(enum outcome outcome, const struct failure *why) {
  switch (outcome) {
    case INTERRUPTED:
      return PyErr_CheckSignals();
    case LATE:
      PyErr_SetString(PyExc_TimeoutError, "timed out");
      return -1;
    case FAILED:
      PyErr_Format(PyExc_ConnectionError, "TLS: %s", why->reason);
      return -1;
    case DONE:
      return 0;
    default:
      errno = why->number;
      PyErr_SetFromErrno(PyExc_OSError);
      return -1;
  }
}

/* send(buffers, wait): sends the first of some buffers, 64 at most, and returns how many bytes. Without `wait` as many as
 * the socket takes: ~n says that of n bytes the last are encrypted, but wait to be sent; the next call sends them. */
static PyObject *channel_send(PyObject *self, PyObject *const *arguments, Py_ssize_t given) {
  struct channel *c = (struct channel *)self;
  if (given != 2 || !PyList_Check(arguments[0])) return PyErr_Format(PyExc_TypeError, "send(buffers, wait)");
  const int wait = PyObject_IsTrue(arguments[1]);
  if (wait < 0 || enter(c) < 0) return NULL;
  Py_buffer views[MOST_BUFFERS];
  int count = 0;
  PyObject *answer = NULL;
  const Py_ssize_t all = PyList_Size(arguments[0]);
  for (; count < all && count < MOST_BUFFERS; count++)
    if (PyObject_GetBuffer(PyList_GetItem(arguments[0], count), &views[count], PyBUF_SIMPLE) < 0) goto end;
  struct outgoing out = {.views = views, .count = count};
  struct failure why = {0, NULL};
  const int64_t until = end_of(c);
  for (;;) {
    enum outcome outcome;
    Py_BEGIN_ALLOW_THREADS
    outcome = send_all(c, &out, wait ? 0 : MSG_DONTWAIT, until, &why);
    Py_END_ALLOW_THREADS
    if (outcome == DONE) {
      answer = PyLong_FromSize_t(out.consumed);
      break;
    }
    if (outcome == WOULD_BLOCK && !wait) {
      answer = PyLong_FromSsize_t(~(Py_ssize_t)out.consumed);
      break;
    }
    if (raise_for(outcome, &why) < 0) break;
  }
end:
  for (int i = 0; i < count; i++) PyBuffer_Release(&views[i]);
  leave(c);
  return answer;
}

/* recv_into(buffer, size=0, flags=0), as a socket's: fills a buffer, or its first bytes, with what has come, or as a whole
 * with MSG_WAITALL; how many bytes, 0 at the end of the stream. */
static PyObject *channel_recv_into(PyObject *self, PyObject *const *arguments, Py_ssize_t given) {
  struct channel *c = (struct channel *)self;
  if (given < 1 || given > 3) return PyErr_Format(PyExc_TypeError, "recv_into(buffer, size, flags)");
  const Py_ssize_t most = given > 1 ? PyLong_AsSsize_t(arguments[1]) : 0;
  if (most < 0) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "a size below 0");
  const long flags = given > 2 ? PyLong_AsLong(arguments[2]) : 0;
  Py_buffer to;
  if ((flags == -1 && PyErr_Occurred()) || enter(c) < 0) return NULL;
  if (PyObject_GetBuffer(arguments[0], &to, PyBUF_WRITABLE) < 0) {
    leave(c);
    return NULL;
  }
  const size_t size = most && most < to.len ? (size_t)most : (size_t)to.len;
  size_t got = 0;
  struct failure why = {0, NULL};
  const int64_t until = end_of(c);
  PyObject *answer = NULL;
  for (;;) {
    enum outcome outcome;
    Py_BEGIN_ALLOW_THREADS
    outcome = receive(c, to.buf, size, (flags & MSG_WAITALL) != 0, until, &got, &why);
    Py_END_ALLOW_THREADS
    if (outcome == DONE) {
      answer = PyLong_FromSize_t(got);
      break;
    }
    if (raise_for(outcome, &why) < 0) break;
  }
  PyBuffer_Release(&to);
  leave(c);
  return answer;
}

static PyObject *channel_settimeout(PyObject *self, PyObject *seconds) {
  struct channel *c = (struct channel *)self;
  if (seconds == Py_None) {
    c->timeout = -1;
  } else {
    const double value = PyFloat_AsDouble(seconds);
    if (value == -1.0 && PyErr_Occurred()) return NULL;
    if (!(value >= 0)) return PyErr_Format(PyExc_ValueError, "a timeout below 0");
    c->timeout = value < 1e6 ? (int)(value * 1e3) + 1 : 1000000000;
  }
  Py_RETURN_NONE;
}

static PyObject *channel_pending(PyObject *self, PyObject *nothing) {
  (void)nothing;
  const struct channel *c = (struct channel *)self;
  return PyLong_FromSize_t(held(&c->arrived) + (size_t)SSL_pending(c->ssl));
}

static PyObject *channel_close(PyObject *self, PyObject *nothing) {
  (void)nothing;
  struct channel *c = (struct channel *)self;
  if (!c->closed) {
    c->users++;
    c->closed = 1;
    leave(c);
  }
  Py_RETURN_NONE;
}

static void channel_end(PyObject *self) {
  struct channel *c = (struct channel *)self;
  PyTypeObject *type = Py_TYPE(self);
  if (c->bio != NULL) {
    BIO_set_data(c->bio, NULL);
    BIO_free(c->bio);
  }
  if (c->descriptor >= 0) close(c->descriptor);
  if (c->memory != NULL) pthread_mutex_destroy(&c->lock);
  free(c->memory);
  Py_XDECREF(c->owner);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyMethodDef channel_methods[] = {
    {"send", (PyCFunction)(void (*)(void))channel_send, METH_FASTCALL, "send(buffers, wait)"},
    {"recv_into", (PyCFunction)(void (*)(void))channel_recv_into, METH_FASTCALL, "recv_into(buffer, size, flags)"},
    {"settimeout", channel_settimeout, METH_O, "settimeout(seconds or None)"},
    {"pending", channel_pending, METH_NOARGS, "pending(): bytes that have come and were not read"},
    {"close", channel_close, METH_NOARGS, "close()"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot channel_slots[] = {{Py_tp_dealloc, channel_end}, {Py_tp_methods, channel_methods}, {0, NULL}};

static PyType_Spec channel_spec = {.name = "tensorfleet_kernels._tls.Channel",
                                   .basicsize = sizeof(struct channel),
                                   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   .slots = channel_slots};

static PyObject *channel_type;

/* ---- the module ------------------------------------------------------------------------------------------------- */

/* The library's object of one of ssl's: it stands before the pointer to the context, whose first field is the
 * library's context. Nothing is called on it before the second is right. */
static SSL *library_object(PyObject *object, PyObject *context, Py_ssize_t size) {
  void *const *words = (void *const *)object;
  const Py_ssize_t first = (Py_ssize_t)(sizeof(PyObject) / sizeof(void *)), count = size / (Py_ssize_t)sizeof(void *);
  for (Py_ssize_t i = first + 1; i < count; i++) {
    if (words[i] != context) continue;
    SSL *ssl = words[i - 1];
    if (ssl == NULL || ((uintptr_t)ssl & 7) || words[first] == context) return NULL;
    void *const library_context = ((void *const *)context)[first];
    return SSL_get_SSL_CTX(ssl) == library_context && SSL_get_ex_data(ssl, 0) == object ? ssl : NULL;
  }
  return NULL;
}

/* use(path, version): looks the library up that the module at `path` uses; whether it has what is needed. */
static PyObject *use(PyObject *self, PyObject *arguments) {
  (void)self;
  const char *path, *version;
  if (!PyArg_ParseTuple(arguments, "ss", &path, &version)) return NULL;
  if (method != NULL) Py_RETURN_TRUE;
  void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
  if (library == NULL) Py_RETURN_FALSE;
#define FIND(type, name, arguments_)                        \
  name = (type(*) arguments_)(uintptr_t)dlsym(library, #name); \
  if (name == NULL) Py_RETURN_FALSE;
  FUNCTIONS(FIND)
#undef FIND
  if (strcmp(OpenSSL_version(0), version) != 0) Py_RETURN_FALSE;
  BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tensorfleet");
  if (made == NULL || !BIO_meth_set_read(made, take_arrived) || !BIO_meth_set_write(made, keep_sealed) ||
      !BIO_meth_set_ctrl(made, control))
    Py_RETURN_FALSE;
  method = made;
  Py_RETURN_TRUE;
}

/* prefer(object, context, size, suites): has ssl's object of a connection, before its handshake, use the first of some
 * cipher suites that the other side knows, too. Whether it does. */
static PyObject *prefer(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *object, *context;
  Py_ssize_t size;
  const char *suites;
  if (!PyArg_ParseTuple(arguments, "OOns", &object, &context, &size, &suites)) return NULL;
  SSL *ssl = method == NULL ? NULL : library_object(object, context, size);
  if (ssl == NULL || SSL_set_ciphersuites(ssl, suites) != 1) {
    if (ssl != NULL) ERR_clear_error();
    Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

/* open(object, context, size, descriptor, arrived, renewed_after, beside_from): a Channel over ssl's object of a connection,
 * after its handshake; None if the library's object is not found. `size` is that of the object, `arrived` what has come and
 * was not yet read; after so many records a key is renewed; so many bytes and more have a second thread, or 0. */
static PyObject *open_channel(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *object, *context;
  Py_ssize_t size, arrived_size, beside_from;
  int descriptor;
  const char *arrived;
  unsigned long long renewed_after;
  if (!PyArg_ParseTuple(arguments, "OOniy#Kn", &object, &context, &size, &descriptor, &arrived, &arrived_size,
                        &renewed_after, &beside_from))
    return NULL;
  if (method == NULL || arrived_size > RING) Py_RETURN_NONE;
  SSL *ssl = library_object(object, context, size);
  if (ssl == NULL) Py_RETURN_NONE;
  allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)channel_type, Py_tp_alloc);
  struct channel *c = (struct channel *)allocate((PyTypeObject *)channel_type, 0);
  if (c == NULL) return NULL;
  c->timeout = -1;
  c->renewed_after = renewed_after;
  c->beside_from = beside_from < 0 ? 0 : (size_t)beside_from;
  c->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (c->descriptor < 0) {
    PyErr_SetFromErrno(PyExc_OSError);
    goto failed;
  }
  char *memory = malloc(2 * (size_t)RING + RECORD);
  if (memory == NULL || (c->bio = BIO_new(method)) == NULL) {
    free(memory);
    PyErr_NoMemory();
    goto failed;
  }
  pthread_mutex_init(&c->lock, NULL);
  c->memory = memory;
  c->arrived.data = memory;
  c->sealed.data = memory + RING;
  c->gathered = memory + 2 * (size_t)RING;
  memcpy(memory, arrived, (size_t)arrived_size);
  c->arrived.end = (size_t)arrived_size;
  c->owner = object;
  Py_INCREF(object);
  c->ssl = ssl;
  BIO_set_data(c->bio, c);
  BIO_set_init(c->bio, 1);
  BIO_up_ref(c->bio);
  SSL_set_bio(ssl, c->bio, c->bio);
  return (PyObject *)c;
failed:
  Py_DECREF(c);
  return NULL;
}

static PyMethodDef methods[] = {
    {"use", use, METH_VARARGS, "use(path, version)"},
    {"prefer", prefer, METH_VARARGS, "prefer(object, context, size, suites)"},
    {"open", open_channel, METH_VARARGS,
     "open(object, context, size, descriptor, arrived, renewed_after, beside_from)"},
    {NULL, NULL, 0, NULL}};

static int fill(PyObject *module) {
  if (channel_type == NULL && (channel_type = PyType_FromSpec(&channel_spec)) == NULL) return -1;
  return PyModule_AddIntConstant(module, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "_tls", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__tls(void) { return PyModuleDef_Init(&definition); }
