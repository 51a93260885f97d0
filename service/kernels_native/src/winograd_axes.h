/* What becomes of numbers along one axis: images, filters and gradients as points, and points as outputs and taps. */
#ifndef TENSORFLEET_WINOGRAD_AXES_H
#define TENSORFLEET_WINOGRAD_AXES_H

#include "vectors.h"
#include "winograd.h"

/* Along one axis, with two outputs y0 and y1 of taps g on d: y = g0 d0 + g1 d1 + g2 d2 and g0 d1 + g1 d2 + g2 d3 by four
 * products, and of two taps on three d by three. */
INLINE void short_image(const long taps, const vector *d, vector *to) {
  to[0] = taps == 3 ? d[0] - d[2] : d[0] - d[1];
  to[1] = taps == 3 ? d[1] + d[2] : d[1];
  to[2] = taps == 3 ? d[2] - d[1] : d[1] - d[2];
  if (taps == 3) to[3] = d[1] - d[3];
}

INLINE void short_filter(const long taps, const vector *g, vector *to) {
  to[0] = g[0];
  to[1] = taps == 3 ? (g[0] + g[1] + g[2]) * 0.5f : g[0] + g[1];
  to[2] = taps == 3 ? (g[0] - g[1] + g[2]) * 0.5f : g[1];
  if (taps == 3) to[3] = g[2];
}

INLINE void short_output(const long taps, const vector *m, vector *y) {
  y[0] = taps == 3 ? m[0] + m[1] + m[2] : m[0] + m[1];
  y[1] = taps == 3 ? m[1] - m[2] - m[3] : m[1] - m[2];
}

/* The two others of a gradient are the transposed ones: of y as points, and of points as taps. */
INLINE void short_gradient(const long taps, const vector *y, vector *to) {
  to[0] = y[0];
  to[1] = y[0] + y[1];
  to[2] = taps == 3 ? y[0] - y[1] : -y[1];
  if (taps == 3) to[3] = -y[1];
}

INLINE void short_taps(const long taps, const vector *s, vector *g) {
  if (taps == 3) {
    const vector both = (s[1] + s[2]) * 0.5f;
    g[0] = s[0] + both;
    g[1] = (s[1] - s[2]) * 0.5f;
    g[2] = both + s[3];
  } else {
    g[0] = s[0] + s[1];
    g[1] = s[1] + s[2];
  }
}

/* Five taps and four outputs are pairs of those: of even taps (a) and of odd ones (b). With e as the even numbers of d, o as the
 * odd ones and f as the even ones from 2 on, the even outputs are a e + b o = (a + b) o + a (e - o), and the odd ones are
 * a o + b f = (a + b) o - b (o - f). */
INLINE void image_of_kind(const enum kind kind, const vector *d, vector *to) {
  vector part[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    if (kind == ALL) part[i] = d[i];
    if (kind == BOTH) part[i] = d[2 * i + 1];
    if (kind == EVEN) part[i] = d[2 * i] - d[2 * i + 1];
    if (kind == ODD && i < 3) part[i] = d[2 * i + 1] - d[2 * i + 2];
  }
  short_image(TAPS_OF_KIND(kind), part, to);
}

INLINE void gradient_of_kind(const enum kind kind, const vector *y, vector *to) {
  vector part[2];
#pragma GCC unroll 2
  for (int i = 0; i < 2; i++) {
    if (kind == ALL) part[i] = y[i];
    if (kind == BOTH) part[i] = y[2 * i] + y[2 * i + 1];
    if (kind == EVEN) part[i] = y[2 * i];
    if (kind == ODD) part[i] = -y[2 * i + 1];
  }
  short_gradient(TAPS_OF_KIND(kind), part, to);
}

/* All points of an axis, kind by kind. */
INLINE void points_of_image(const long taps, const vector *d, vector *to) {
  if (taps == 3) {
    image_of_kind(ALL, d, to);
  } else {
    image_of_kind(BOTH, d, to + FIRST_POINT(BOTH));
    image_of_kind(EVEN, d, to + FIRST_POINT(EVEN));
    image_of_kind(ODD, d, to + FIRST_POINT(ODD));
  }
}

INLINE void points_of_filter(const long taps, const vector *g, vector *to) {
  if (taps == 3) {
    short_filter(3, g, to);
  } else {
    const vector even[3] = {g[0], g[2], g[4]}, odd[2] = {g[1], g[3]}, both[3] = {g[0] + g[1], g[2] + g[3], g[4]};
    short_filter(3, both, to + FIRST_POINT(BOTH));
    short_filter(3, even, to + FIRST_POINT(EVEN));
    short_filter(2, odd, to + FIRST_POINT(ODD));
  }
}

INLINE void output_of_points(const long taps, const vector *m, vector *y) {
  if (taps == 3) {
    short_output(3, m, y);
  } else {
    vector both[2], even[2], odd[2];
    short_output(3, m + FIRST_POINT(BOTH), both);
    short_output(3, m + FIRST_POINT(EVEN), even);
    short_output(2, m + FIRST_POINT(ODD), odd);
    y[0] = both[0] + even[0];
    y[1] = both[0] - odd[0];
    y[2] = both[1] + even[1];
    y[3] = both[1] - odd[1];
  }
}

INLINE void points_of_gradient(const long taps, const vector *y, vector *to) {
  if (taps == 3) {
    gradient_of_kind(ALL, y, to);
  } else {
    gradient_of_kind(BOTH, y, to + FIRST_POINT(BOTH));
    gradient_of_kind(EVEN, y, to + FIRST_POINT(EVEN));
    gradient_of_kind(ODD, y, to + FIRST_POINT(ODD));
  }
}

INLINE void taps_of_points(const long taps, const vector *s, vector *g) {
  if (taps == 3) {
    short_taps(3, s, g);
  } else {
    vector both[3], even[3], odd[2];
    short_taps(3, s + FIRST_POINT(BOTH), both);
    short_taps(3, s + FIRST_POINT(EVEN), even);
    short_taps(2, s + FIRST_POINT(ODD), odd);
    g[0] = both[0] + even[0];
    g[1] = both[0] + odd[0];
    g[2] = both[1] + even[1];
    g[3] = both[1] + odd[1];
    g[4] = both[2] + even[2];
  }
}

#endif
