#include "tls_library.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define DEFINE(type, name, arguments) type(*name) arguments;
FUNCTIONS(DEFINE)
#undef DEFINE

int find_library(const char *path, const char *version) {
  void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
  if (library == NULL) return 0;
#define FIND(type, name, arguments)                           \
  name = (type(*) arguments)(uintptr_t)dlsym(library, #name); \
  if (name == NULL) return 0;
  FUNCTIONS(FIND)
#undef FIND
  return strcmp(OpenSSL_version(0), version) == 0;
}

/* It stands before the pointer to the context, whose first field is the library's context. Nothing is called on it before
 * the second is right. */
SSL *library_object(PyObject *object, PyObject *context, Py_ssize_t size) {
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
