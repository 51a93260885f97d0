/* TLS records of a connection whose handshake Python's ssl has made: what is written and read afterwards, many
 * records a call, without the interpreter.
 *
 * The cipher and the protocol are those of the OpenSSL that ssl uses itself, whose functions are looked up in it: nothing
 * is linked, and where they are not found, `open` says so and ssl does all of it. ssl has no way to hand out the
 * library's object, so it is found beside the pointer to the connection's context, and then asked whose it is.
 *
 * One thread reads and one sends; the library's object is used under a lock that is not held for I/O (tls_channel.c). For
 * a large tensor a second thread encrypts or decrypts, while the first one is in the system's calls (tls_beside.c). */
#include "tls_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define INTERFACE 3 /* another number for each change of what wire/tls_records.py calls, there as well */

/* ---- a channel's methods ------------------------------------------------------------------------------------------ */

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

/* Sends buffers, and gives them back; how many bytes, and ~n without `wait` if the last of them are still to be sent. */
static PyObject *send_views(struct channel *c, Py_buffer *views, int count, int wait) {
  PyObject *answer = NULL;
  struct outgoing out = {.views = views, .count = count};
  struct failure why = {0, NULL};
  const int64_t until = end_of_call(c);
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
  for (int i = 0; i < count; i++) PyBuffer_Release(&views[i]);
  return answer;
}

/* send(buffers, wait): sends the first of some buffers, 64 at most, and returns how many bytes. Without `wait` as many as
 * the socket takes: ~n says that of n bytes the last are encrypted, but wait to be sent; the next call sends them. */
static PyObject *channel_send(PyObject *self, PyObject *const *arguments, Py_ssize_t given) {
  struct channel *c = (struct channel *)self;
  if (given != 2 || !PyList_Check(arguments[0])) return PyErr_Format(PyExc_TypeError, "send(buffers, wait)");
  const int wait = PyObject_IsTrue(arguments[1]);
  if (wait < 0 || enter(c) < 0) return NULL;
  Py_buffer views[MOST_BUFFERS];
  const Py_ssize_t all = PyList_Size(arguments[0]);
  PyObject *answer = NULL;
  int count = 0, failed = 0;
  while (!failed && count < all && count < MOST_BUFFERS) {
    failed = PyObject_GetBuffer(PyList_GetItem(arguments[0], count), &views[count], PyBUF_SIMPLE) < 0;
    count += !failed;
  }
  if (!failed)
    answer = send_views(c, views, count, wait);
  else
    while (count) PyBuffer_Release(&views[--count]);
  leave(c);
  return answer;
}

/* sendall(buffer), as a socket's: the number of bytes, which are sent. */
static PyObject *channel_sendall(PyObject *self, PyObject *buffer) {
  struct channel *c = (struct channel *)self;
  Py_buffer view;
  if (enter(c) < 0) return NULL;
  PyObject *answer = PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE) < 0 ? NULL : send_views(c, &view, 1, 1);
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
  const int64_t until = end_of_call(c);
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
  return PyLong_FromSize_t(held(&c->arrived) + (c->has_more ? (size_t)SSL_pending(c->ssl) : 0));
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
  detach(c);
  if (c->descriptor >= 0) close(c->descriptor);
  Py_XDECREF(c->owner);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyMethodDef channel_methods[] = {
    {"send", (PyCFunction)(void (*)(void))channel_send, METH_FASTCALL, "send(buffers, wait)"},
    {"sendall", channel_sendall, METH_O, "sendall(buffer)"},
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

static int is_usable;

/* use(path, version): looks the library up that the module at `path` uses; whether it has what is needed. */
static PyObject *use(PyObject *self, PyObject *arguments) {
  (void)self;
  const char *path, *version;
  if (!PyArg_ParseTuple(arguments, "ss", &path, &version)) return NULL;
  if (!is_usable && find_library(path, version) && prepare_channels()) is_usable = 1;
  return PyBool_FromLong(is_usable);
}

/* prefer(object, context, size, suites): has ssl's object of a connection, before its handshake, use the first of some
 * cipher suites that the other side knows, too. Whether it does. */
static PyObject *prefer(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *object, *context;
  Py_ssize_t size;
  const char *suites;
  if (!PyArg_ParseTuple(arguments, "OOns", &object, &context, &size, &suites)) return NULL;
  SSL *ssl = !is_usable ? NULL : library_object(object, context, size);
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
  if (!is_usable || arrived_size > RING) Py_RETURN_NONE;
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
  if (attach(c, ssl, arrived, (size_t)arrived_size) < 0) {
    PyErr_NoMemory();
    goto failed;
  }
  c->owner = object;
  Py_INCREF(object);
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
