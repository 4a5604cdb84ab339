/* Charts as SVG, and text made safe for XML and HTML. */
#ifndef BL_REPORT_SVG_H
#define BL_REPORT_SVG_H

#include <stdbool.h>

#include "base/str.h"
#include "report/chart.h"

/* alone: a whole file, in a grey that is read on white and on black; otherwise an element of an HTML page, in the
 * colour of the text around it. Every text is escaped. */
void bl_svg_chart(const bl_chart *chart, bool alone, bl_str *out);

/* Text as XML's and HTML's content or quoted attribute: the five marks escaped, what is no UTF-8, and control
 * characters but tab and line feed, replaced by U+FFFD. NULL is nothing. */
void bl_markup_text(bl_str *out, const char *text);

/* Text as a JSON string, quotes included, that may stand inside a script element of a page: ASCII alone, and no <, > or
 * &. What bl_markup_text replaces, this does too. */
void bl_markup_json(bl_str *out, const char *text);

#endif
