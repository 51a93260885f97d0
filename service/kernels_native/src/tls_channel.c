#include "tls_channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { RETRY = BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY };

static BIO_METHOD *method;

/* ---- what the library reads from and writes to -------------------------------------------------------------------- */

/* The smallest memory that does is the fastest: what small messages use stays in the cache. */
static void begin_again(struct ring *ring) {
  if (held(ring)) return;
  set_begin(ring, 0);
  set_end(ring, 0);
}

static int take_arrived(BIO *bio, char *to, int size) {
  struct channel *c = BIO_get_data(bio);
  if (c == NULL || !c->reading || size <= 0) return -1;
  const size_t there = held(&c->arrived);
  if (!there) return -1;
  const size_t taken = there < (size_t)size ? there : (size_t)size, place = begin_of(&c->arrived);
  const size_t first = in_a_row(place, taken);
  memcpy(to, c->arrived.data + place % RING, first);
  if (first < taken) memcpy(to + first, c->arrived.data, taken - first);
  set_begin(&c->arrived, place + taken);
  return (int)taken;
}

static int keep_sealed(BIO *bio, const char *from, int size) {
  struct channel *c = BIO_get_data(bio);
  if (c == NULL || size < 0) return -1;
  const size_t waiting = held(&c->sealed);
  if (!waiting) c->answers = 0;
  if (c->reading) c->answers += (size_t)size;
  if (c->answers > MOST_ANSWERS || (size_t)size > RING - waiting) {
    BIO_clear_flags(bio, RETRY); /* it is over: the peer asks for new keys without end, and takes no answer */
    return -1;
  }
  const size_t place = end_of_ring(&c->sealed), first = in_a_row(place, (size_t)size);
  memcpy(c->sealed.data + place % RING, from, first);
  if (first < (size_t)size) memcpy(c->sealed.data, from + first, (size_t)size - first);
  set_end(&c->sealed, place + (size_t)size);
  return size;
}

static long control(BIO *bio, int command, long number, void *pointer) {
  (void)bio, (void)number, (void)pointer;
  return command == BIO_CTRL_FLUSH;
}

int prepare_channels(void) {
  if (method != NULL) return 1;
  BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tensorfleet");
  if (made == NULL || !BIO_meth_set_read(made, take_arrived) || !BIO_meth_set_write(made, keep_sealed) ||
      !BIO_meth_set_ctrl(made, control))
    return 0;
  method = made;
  return 1;
}

int attach(struct channel *c, SSL *ssl, const char *arrived, size_t size) {
  char *memory = malloc(2 * (size_t)RING + RECORD);
  if (memory == NULL || (c->bio = BIO_new(method)) == NULL) {
    free(memory);
    return -1;
  }
  pthread_mutex_init(&c->lock, NULL);
  c->memory = memory;
  c->arrived.data = memory;
  c->sealed.data = memory + RING;
  c->gathered = memory + 2 * (size_t)RING;
  memcpy(memory, arrived, size);
  set_end(&c->arrived, size);
  c->ssl = ssl;
  c->has_more = 1; /* ssl may have read a part of a record */
  BIO_set_data(c->bio, c);
  BIO_set_init(c->bio, 1);
  /* Whenever nothing is there, more may come: this says so once and for all. */
  BIO_set_flags(c->bio, RETRY);
  BIO_up_ref(c->bio);
  SSL_set_bio(ssl, c->bio, c->bio);
  /* ssl has the library give its two buffers back after each record: to take them again is a tenth of a small one. */
  SSL_ctrl(ssl, SSL_CTRL_CLEAR_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
  return 0;
}

void detach(struct channel *c) {
  if (c->bio != NULL) {
    BIO_set_data(c->bio, NULL);
    BIO_free(c->bio);
  }
  if (c->memory != NULL) pthread_mutex_destroy(&c->lock);
  free(c->memory);
}

/* ---- sealing and opening ------------------------------------------------------------------------------------------ */

/* Why the library has just refused something: the last of the thread's errors, but for the one that OpenSSL 3.2 and later
 * put after what they found in a record. */
static const char *last_reason(void) {
  unsigned long last = 0, error;
  while ((error = ERR_get_error()))
    if (error != RECORD_LAYER_FAILURE || !last) last = error;
  const char *reason = ERR_reason_error_string(last);
  return reason == NULL ? "the connection broke" : reason;
}

static enum outcome library_failed(struct failure *why) {
  why->reason = last_reason();
  return FAILED;
}

enum outcome seal(struct channel *c, struct outgoing *out, size_t room, int is_alone, struct failure *why) {
  enum outcome outcome = DONE;
  pthread_mutex_lock(&c->lock);
  if (is_alone) begin_again(&c->sealed);
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

/* Whether the library has something to give or to read. */
static int is_something_there(const struct channel *c) {
  return held(&c->arrived) || (c->has_more && SSL_pending(c->ssl));
}

void open_arrived(struct channel *c, char *to, size_t size, size_t *got) {
  if (!is_something_there(c)) return;
  pthread_mutex_lock(&c->lock);
  c->reading = 1;
  while (*got < size && is_something_there(c)) {
    size_t read = 0;
    const size_t asked = size - *got;
    if (SSL_read_ex(c->ssl, to + *got, asked, &read) == 1) {
      c->has_more = read == asked;
      *got += read;
      continue;
    }
    c->has_more = 0;
    /* It judges by the errors of this thread, older ones of others included, and without any by its own state. */
    const char *reason = last_reason();
    const int error = SSL_get_error(c->ssl, 0);
    if (error == SSL_ERROR_WANT_READ) break;
    if (error == SSL_ERROR_ZERO_RETURN) {
      c->over = 1;
    } else {
      c->read_outcome = FAILED;
      c->read_failure.reason = reason;
    }
    break;
  }
  c->reading = 0;
  pthread_mutex_unlock(&c->lock);
}

/* ---- sending and receiving ---------------------------------------------------------------------------------------- */

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

int64_t end_of_call(const struct channel *c) { return c->timeout < 0 ? 0 : now() + c->timeout; }

/* What to do after the system refused to send or receive, by errno: DONE is to try again. */
static enum outcome refused(const struct channel *c, short events, int64_t until, struct failure *why) {
  why->number = errno;
  if (why->number == EINTR) return INTERRUPTED;
  if (why->number != EAGAIN && why->number != EWOULDBLOCK) return BROKEN;
  if (c->timeout < 0) return WOULD_BLOCK;
  const int64_t left = until - now();
  if (left <= 0) return LATE;
  struct pollfd one = {.fd = c->descriptor, .events = events};
  const int ready = poll(&one, 1, left < 1000000000 ? (int)left : 1000000000);
  if (ready > 0) return DONE;
  if (!ready) return LATE;
  why->number = errno;
  return why->number == EINTR ? INTERRUPTED : BROKEN;
}

enum outcome send_some(struct channel *c, size_t most, int flags, int64_t until, struct failure *why) {
  const size_t place = begin_of(&c->sealed);
  size_t size = in_a_row(place, end_of_ring(&c->sealed) - place);
  if (size > most) size = most;
  const ssize_t sent = send(c->descriptor, c->sealed.data + place % RING, size, flags | MSG_NOSIGNAL);
  if (sent >= 0) {
    set_begin(&c->sealed, place + (size_t)sent);
    return DONE;
  }
  if (flags & MSG_DONTWAIT && (errno == EAGAIN || errno == EWOULDBLOCK)) return WOULD_BLOCK;
  return refused(c, POLLOUT, until, why);
}

/* How much to seal before it is sent, or to receive before it is opened, after a piece of such a size. The other side works
 * on one piece while this side makes the next, and waits for the first and the last: these are small. */
static size_t next_piece(size_t size, size_t left) {
  size = 2 * size < CHUNK ? 2 * size : CHUNK;
  if (size > left / 4) size = left / 4 - left / 4 % RECORD;
  return size > PIECE ? size : PIECE;
}

enum outcome send_all(struct channel *c, struct outgoing *out, int flags, int64_t until, struct failure *why) {
  size_t end = out->consumed - out->place;
  for (int i = out->view; i < out->count; i++) end += (size_t)out->views[i].len;
  if (c->beside_from && end - out->consumed >= c->beside_from) {
    const enum outcome outcome = send_beside(c, out, flags, until, why);
    if (outcome != DONE) return outcome;
  }
  for (size_t room = PIECE;; room = next_piece(room, end - out->consumed)) {
    while (held(&c->sealed)) {
      const enum outcome outcome = send_some(c, RING, flags, until, why);
      if (outcome != DONE) return outcome;
    }
    if (out->view == out->count) return DONE;
    const enum outcome outcome = seal(c, out, room, 1, why);
    if (outcome != DONE) return outcome;
  }
}

/* Receives once, at most `most` of what has to arrive for `left` more bytes; `*is_short` if that is less than was waited
 * for. */
static enum outcome fetch(struct channel *c, size_t left, size_t most, int all, int64_t until, int *is_short,
                          struct failure *why) {
  begin_again(&c->arrived);
  const size_t place = end_of_ring(&c->arrived), there = place - begin_of(&c->arrived);
  size_t size = in_a_row(place, RING - there < most ? RING - there : most);
  /* What certainly comes is waited for: to be woken for each part of it takes longer than to copy it. */
  const size_t known = there + RECORD + OVERHEAD;
  const int wait = all && left > known;
  if (wait && size > left - known) size = left - known;
  ssize_t received;
  while ((received = recv(c->descriptor, c->arrived.data + place % RING, size, wait ? MSG_WAITALL : 0)) < 0) {
    const enum outcome outcome = refused(c, POLLIN, until, why);
    if (outcome == BROKEN) {
      c->read_outcome = BROKEN; /* the system says so once */
      c->read_failure = *why;
    }
    if (outcome != DONE) return outcome;
  }
  if (!received) c->over = 1;
  set_end(&c->arrived, place + (size_t)received);
  *is_short = wait && (size_t)received < size;
  return DONE;
}

enum outcome receive(struct channel *c, char *to, size_t size, int all, int64_t until, size_t *got,
                     struct failure *why) {
  int is_short = 0;
  for (size_t most = PIECE;; most = next_piece(most, size - *got)) {
    /* Of a stream whose end has come there may still be records that were not opened. */
    if (c->read_outcome != FAILED) open_arrived(c, to, size, got);
    if (*got == size || (*got && (!all || is_short))) return DONE;
    if (c->over || c->read_outcome != DONE) {
      if (*got || c->read_outcome == DONE) return DONE; /* the next call tells why there are no more */
      *why = c->read_failure;
      return c->read_outcome;
    }
    if (is_short) return INTERRUPTED;
    /* A socket with a timeout does not wait by itself. */
    if (all && c->beside_from && c->timeout < 0 && size - *got >= c->beside_from + 2 * (size_t)RING) {
      if (receive_beside(c, to, size, got) == INTERRUPTED) is_short = 1;
      continue;
    }
    const enum outcome outcome = fetch(c, size - *got, most, all, until, &is_short, why);
    if (outcome != DONE && outcome != BROKEN) return *got ? DONE : outcome;
  }
}
