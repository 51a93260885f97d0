/* The OpenSSL that Python's ssl uses: its functions, looked up in it, and its object of a connection. */
#ifndef TENSORFLEET_TLS_LIBRARY_H
#define TENSORFLEET_TLS_LIBRARY_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>

typedef struct ssl_st SSL;
typedef struct bio_st BIO;
typedef struct bio_method_st BIO_METHOD;

/* Of OpenSSL's interface, which does not change. */
enum { SSL_ERROR_WANT_READ = 2, SSL_ERROR_ZERO_RETURN = 6, SSL_KEY_UPDATE_NOT_REQUESTED = 0 };
enum { RECORD_LAYER_FAILURE = 20 << 23 | 313 }; /* as ERR_PACK makes it */
enum { SSL_CTRL_CLEAR_MODE = 78, SSL_MODE_RELEASE_BUFFERS = 0x10 };
enum { BIO_FLAGS_READ = 1, BIO_FLAGS_SHOULD_RETRY = 8, BIO_CTRL_FLUSH = 11, BIO_TYPE_SOURCE_SINK = 0x400 };

#define FUNCTIONS(F)                                                            \
  F(int, SSL_read_ex, (SSL *, void *, size_t, size_t *))                        \
  F(int, SSL_write_ex, (SSL *, const void *, size_t, size_t *))                 \
  F(int, SSL_get_error, (const SSL *, int))                                     \
  F(int, SSL_pending, (const SSL *))                                            \
  F(int, SSL_key_update, (SSL *, int))                                          \
  F(int, SSL_set_ciphersuites, (SSL *, const char *))                           \
  F(long, SSL_ctrl, (SSL *, int, long, void *))                                 \
  F(void *, SSL_get_ex_data, (const SSL *, int))                                \
  F(void *, SSL_get_SSL_CTX, (const SSL *))                                     \
  F(void, SSL_set_bio, (SSL *, BIO *, BIO *))                                   \
  F(int, BIO_get_new_index, (void))                                             \
  F(BIO_METHOD *, BIO_meth_new, (int, const char *))                            \
  F(int, BIO_meth_set_read, (BIO_METHOD *, int (*)(BIO *, char *, int)))        \
  F(int, BIO_meth_set_write, (BIO_METHOD *, int (*)(BIO *, const char *, int))) \
  F(int, BIO_meth_set_ctrl, (BIO_METHOD *, long (*)(BIO *, int, long, void *))) \
  F(BIO *, BIO_new, (const BIO_METHOD *))                                       \
  F(int, BIO_up_ref, (BIO *))                                                   \
  F(int, BIO_free, (BIO *))                                                     \
  F(void, BIO_set_init, (BIO *, int))                                           \
  F(void, BIO_set_data, (BIO *, void *))                                        \
  F(void *, BIO_get_data, (BIO *))                                              \
  F(void, BIO_set_flags, (BIO *, int))                                          \
  F(void, BIO_clear_flags, (BIO *, int))                                        \
  F(unsigned long, ERR_get_error, (void))                                       \
  F(void, ERR_clear_error, (void))                                              \
  F(const char *, ERR_reason_error_string, (unsigned long))                     \
  F(const char *, OpenSSL_version, (int))

#define DECLARE(type, name, arguments) extern type(*name) arguments;
FUNCTIONS(DECLARE)
#undef DECLARE

/* Looks the functions up in the library that the module at `path` uses, of such a version; whether they are there. */
int find_library(const char *path, const char *version);

/* The library's object of one of ssl's, which has `size` bytes; NULL if it is not found. */
SSL *library_object(PyObject *object, PyObject *context, Py_ssize_t size);

#endif
