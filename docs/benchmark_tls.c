/* What TLS costs a message without an interpreter: 200 bytes there and back by TCP, with and without OpenSSL.
 *
 *   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN=x
 *   cc -O2 -o benchmark_tls docs/benchmark_tls.c -lssl -lcrypto
 *   ./benchmark_tls 0 0; ./benchmark_tls 1 0; ./benchmark_tls 0 2048; ./benchmark_tls 1 2048
 *
 * The first argument says whether with TLS, the second how many other functions each side calls between two messages, as an
 * interpreter does: they drive the library's code out of the processor's caches. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 200, FIRST = 500, ROUNDS = 20000 };

static volatile uint64_t sum;

#define ONE(n)                                               \
  __attribute__((noinline, aligned(256))) static void f##n(void) { \
    sum += 0x9e3779b97f4a7c15ull * (0x##n + 1);              \
    if (sum % (0x##n + 3) == 1) sum ^= 0x##n;                \
  }
#define NAME(n) f##n,
#define TEN(F, n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)
#define MORE(F, n) TEN(F, n##8) TEN(F, n##9) TEN(F, n##a) TEN(F, n##b) TEN(F, n##c) TEN(F, n##d) TEN(F, n##e) TEN(F, n##f)
#define ALL(F, n) MORE(F, n##0) MORE(F, n##1) MORE(F, n##2) MORE(F, n##3) MORE(F, n##4) MORE(F, n##5) MORE(F, n##6) MORE(F, n##7)
#define EVERY(F) ALL(F, 1) ALL(F, 2) ALL(F, 3) ALL(F, 4)

EVERY(ONE)
static void (*const others[])(void) = {EVERY(NAME)};

static void call_others(int count) {
  for (int i = 0; i < count; i++) others[(i * 37) % (int)(sizeof others / sizeof *others)]();
}

static int descriptor;
static SSL *ssl;

static void check(int is_right, const char *what) {
  if (is_right) return;
  fprintf(stderr, "%s failed\n", what);
  exit(1);
}

static void put(const char *data) {
  check((ssl ? SSL_write(ssl, data, SIZE) : send(descriptor, data, SIZE, 0)) == SIZE, "sending");
}

static void get(char *data) {
  for (int got = 0; got < SIZE;) {
    const ssize_t more = ssl ? SSL_read(ssl, data + got, SIZE - got) : recv(descriptor, data + got, SIZE - got, 0);
    check(more > 0, "receiving");
    got += (int)more;
  }
}

static double seconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int count, char **arguments) {
  check(count == 3, "benchmark_tls TLS OTHERS: reading the arguments");
  const int between = atoi(arguments[2]), one = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  check(!bind(listening, (void *)&address, size) && !listen(listening, 1), "listening");
  getsockname(listening, (void *)&address, &size);
  const int is_server = !fork();
  descriptor = is_server ? accept(listening, NULL, NULL) : socket(AF_INET, SOCK_STREAM, 0);
  check(is_server || !connect(descriptor, (void *)&address, size), "connecting");
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (atoi(arguments[1])) {
    SSL_CTX *context = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
    check(SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256"), "choosing a cipher");
    SSL_CTX_set_num_tickets(context, 0);
    if (is_server) {
      check(SSL_CTX_use_certificate_file(context, "cert.pem", SSL_FILETYPE_PEM) == 1, "reading cert.pem");
      check(SSL_CTX_use_PrivateKey_file(context, "key.pem", SSL_FILETYPE_PEM) == 1, "reading key.pem");
    }
    ssl = SSL_new(context);
    SSL_set_fd(ssl, descriptor);
    SSL_set_read_ahead(ssl, 1); /* one call for a record, as tls_channel.c has it */
    check((is_server ? SSL_accept(ssl) : SSL_connect(ssl)) == 1, "the handshake");
  }
  char data[SIZE] = {0};
  double used = 0, best = 1;
  for (int i = -FIRST; i < ROUNDS; i++) {
    if (!i) used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    const double began = seconds(CLOCK_MONOTONIC);
    if (is_server) get(data);
    call_others(between);
    put(data);
    if (!is_server) get(data);
    const double took = seconds(CLOCK_MONOTONIC) - began;
    if (i >= 0 && took < best) best = took;
  }
  used = (seconds(CLOCK_PROCESS_CPUTIME_ID) - used) / ROUNDS;
  printf("%s: %.1f us of processor time, %.1f us at best\n", is_server ? "server" : "client", used * 1e6, best * 1e6);
  fflush(stdout);
  if (!is_server) wait(NULL);
  return 0;
}
